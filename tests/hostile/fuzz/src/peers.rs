//! Messages between servers.

use std::sync::Arc;

use prost::Message;
use tenure_core::{Acquire, AskedMode, Change, Command, ServerId, Table, Text};
use tenure_proto::internal as proto;
use tenure_server::peer::message;
use tenure_server::sequencer::forwarding::{CommitNotice, Forward};
use tenure_server::store::Batch;

use crate::changes;
use crate::draw::Draw;

const FROM: ServerId = ServerId(7);

/// Messages arrive as they were sent. Of any other bytes, an accepted forward is within the bounds of clients, and can
/// be encoded identically and decided; an accepted notice can be encoded identically; others are rejected with a reason.
pub fn peers(data: &[u8]) {
    match data.split_first() {
        Some((b'!', rest)) => check_batch(&mut Draw::new(rest)),
        Some((b'?', rest)) => {
            if let Ok(sent) = proto::ForwardResponse::decode(rest) {
                check_notice(sent);
            }
        }
        Some((_, rest)) => {
            check_forward(&proto::ForwardRequest { greeting: None, forward: rest.to_vec() });
        }
        None => {}
    }
}

/// Returns whether the forward was accepted.
fn check_forward(sent: &proto::ForwardRequest) -> bool {
    let forward = match message::decode_forward(sent, FROM) {
        Ok(forward) => forward,
        Err(problem) => {
            assert!(!problem.is_empty());
            return false;
        }
    };
    let mut table = Table::default();
    for request in &forward.requests {
        check_command(&request.command);
        // A rejected command changes nothing.
        let _ = table.decide(request.clone(), &mut Vec::new());
    }
    let again = message::decode_forward(&through(&message::encode_forward(&forward)), FROM);
    assert_eq!(again.expect("an accepted forward can be encoded"), forward);
    true
}

/// Asserts the bounds that the service enforces, too.
fn check_command(command: &Command) {
    match command {
        Command::Acquire(Acquire { session, names, mode, priority, .. }) => {
            check_text(session, 128);
            check_claim(names, *mode, *priority);
        }
        Command::OpenSession { session, .. } | Command::MoveSession { session, .. } => check_text(session, 128),
        Command::Release { session, name, .. } => {
            check_text(session, 128);
            check_text(name, 255);
        }
        Command::Change { client, changes, .. } => {
            check_text(client, 128);
            for change in changes {
                let Change::Declare(declaration) = change else { continue };
                let numbers = declaration.numbers().map(i64::try_from);
                assert!(numbers.flatten().all(|number| number > 0), "no row can store the numbers");
                declaration.claims.iter().for_each(|claim| check_claim(&claim.names, claim.mode, claim.priority));
                declaration.memberships.iter().for_each(|membership| check_text(&membership.group, 255));
            }
        }
        Command::EndWait { .. } | Command::CloseSession { .. } => {}
        other => panic!("not forwarded: {other:?}"),
    }
}

fn check_claim(names: &[Text], mode: AskedMode, priority: i32) {
    names.iter().for_each(|name| check_text(name, 255));
    assert!((1..=16).contains(&names.len()) && names.windows(2).all(|pair| pair[0] < pair[1]), "{names:?}");
    assert!((-1_000..=1_000).contains(&priority));
    if let AskedMode::Permits { permits, limit } = mode {
        assert!((1..=limit.unwrap_or(1_000_000)).contains(&permits) && limit.is_none_or(|most| most <= 1_000_000));
    }
}

fn check_text(text: &str, most: usize) {
    assert!((1..=most).contains(&text.len()) && !text.contains(char::is_control), "{text:?}");
}

fn check_notice(sent: proto::ForwardResponse) {
    match message::decode_notice(sent, FROM, &"n".into()) {
        Ok(notice) => {
            let expected = notice.batch.clone().filter(|batch| !batch.declares_loss());
            let encoded = message::encode_notice(&CommitNotice { encoded: Arc::default(), ..notice.clone() });
            let again = message::decode_notice(through(&encoded), FROM, &"n".into()).expect("an encoded notice");
            assert_eq!((again.batch, again.decided, again.rejected), (expected, notice.decided, notice.rejected));
            assert_eq!((again.at, again.rows, again.is_shared), (notice.at, notice.rows, notice.is_shared));
        }
        Err(problem) => assert!(!problem.is_empty()),
    }
}

/// A batch of any events arrives as it is in the log, and so do those of its commands that can be forwarded.
fn check_batch(draw: &mut Draw<'_>) {
    let (mut table, _) = changes::table(draw, 32);
    let (previous, mut events) = (table.revision(), Vec::new());
    for _ in 0..draw.below(8) {
        let request = changes::request(draw, &table);
        let (number, oldest, requests) = (1, 1, vec![request.clone()]);
        let (pauses, traces) = (Vec::new(), Vec::new());
        check_forward(&message::encode_forward(&Forward { number, oldest, after: previous, requests, pauses, traces }));
        // A rejected command changes nothing.
        let _ = table.decide(request, &mut events);
    }
    if events.is_empty() {
        return;
    }
    let batch = Batch { namespace: Text::from("n"), previous, events, server: FROM, number: 2, at_ms: -3 };
    let (sent, encoded, at, rows) = (Some(Arc::new(batch)), Arc::default(), table.revision(), previous);
    let (batch, decided, rejected, is_shared) = (sent.clone(), vec![1], Vec::new(), false);
    let notice = CommitNotice { batch, encoded, decided, rejected, at, rows, is_shared };
    let received = message::decode_notice(through(&message::encode_notice(&notice)), FROM, &"n".into());
    assert_eq!(received.expect("readable").batch, sent);
}

/// Encodes and decodes a message.
fn through<M: Message + Default>(message: &M) -> M {
    M::decode(message.encode_to_vec().as_slice()).expect("an encoded message can be decoded")
}
