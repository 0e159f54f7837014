//! Messages between servers.

use std::sync::Arc;

use prost::Message;
use tenure_core::{Acquire, AskedMode, Command, ServerId, Table, Text};
use tenure_proto::internal as proto;
use tenure_server::peer::fuzzing;
use tenure_server::sequencer::passing::{News, Pass, Report};
use tenure_server::store::Batch;

use crate::changes;
use crate::draw::Draw;

const FROM: ServerId = ServerId(7);

/// Messages arrive as they were sent. Of any other bytes, an accepted pass is within the bounds of clients, and can be
/// encoded identically; accepted news can be encoded identically; an invalid batch is rejected with a reason.
pub fn peers(data: &[u8]) {
    match data.split_first() {
        Some((b'!', rest)) => check_batch(&mut Draw::new(rest)),
        Some((b'?', rest)) => {
            if let Ok(message) = proto::PassResponse::decode(rest) {
                check_news(message);
            }
        }
        Some((_, rest)) => {
            if let Ok(message) = proto::Pass::decode(rest) {
                check_pass(message);
            }
        }
        None => {}
    }
}

fn check_pass(message: proto::Pass) {
    let Some(pass) = fuzzing::taken(message, FROM) else { return };
    pass.requests.iter().for_each(|request| check_command(&request.command));
    let sent = fuzzing::pass(&pass).expect("an accepted pass can be encoded");
    assert_eq!(fuzzing::taken(through(&sent), FROM), Some(pass));
}

/// Asserts the bounds that the service enforces, too.
fn check_command(command: &Command) {
    match command {
        Command::Acquire(Acquire { session, names, mode, priority, .. }) => {
            check_text(session, 128);
            names.iter().for_each(|name| check_text(name, 255));
            assert!(names.len() <= 16 && names.windows(2).all(|pair| pair[0] < pair[1]), "{names:?}");
            assert!((-1_000..=1_000).contains(priority));
            if let AskedMode::Permits { permits, limit } = mode {
                assert!(
                    (1..=limit.unwrap_or(1_000_000)).contains(permits) && limit.is_none_or(|most| most <= 1_000_000)
                );
            }
        }
        Command::OpenSession { session, attachment, .. } | Command::AttachSession { session, attachment, .. } => {
            check_text(session, 128);
            assert!(i64::try_from(*attachment).is_ok(), "no row can store the attachment {attachment}");
        }
        Command::Release { session, name, .. } => {
            check_text(session, 128);
            check_text(name, 255);
        }
        _ => {}
    }
}

fn check_text(text: &str, most: usize) {
    assert!((1..=most).contains(&text.len()) && !text.contains(char::is_control), "{text:?}");
}

fn check_news(message: proto::PassResponse) {
    let has_batch = message.batch.is_some();
    match fuzzing::news(message, FROM, &"n".into()) {
        Ok(news) => {
            assert_eq!(news.batch.is_some(), has_batch);
            if let Some(Report::Packed(packed)) = &news.batch {
                assert!(packed.revision() > packed.previous());
                if let Ok(batch) = packed.unpack(&Table::default()) {
                    assert_eq!((batch.previous, batch.revision()), (packed.previous(), packed.revision()));
                }
            }
            let sent = fuzzing::response(&News { batch: None, ..news.clone() });
            let again = fuzzing::news(through(&sent), FROM, &"n".into()).expect("no batch");
            assert_eq!((again.verdicts, again.rows), (news.verdicts, news.rows));
        }
        Err(problem) => assert!(has_batch && !problem.is_empty()),
    }
}

/// A batch of any events arrives as it is in the log, and so do those of its commands that can be forwarded.
fn check_batch(draw: &mut Draw<'_>) {
    let (mut table, log) = changes::table(draw, 32);
    let mut before = Table::default();
    log.iter().for_each(|recorded| before.apply(recorded));
    let (mut events, mut requests) = (Vec::new(), Vec::new());
    for _ in 0..draw.below(8) {
        let request = changes::request(draw, &table);
        requests.push(request.clone());
        // A rejected command changes nothing.
        let _ = table.decide(request, &mut events);
    }
    for request in requests {
        let pass = Pass {
            number: 1,
            after: before.revision(),
            requests: vec![request],
            pauses: Vec::new(),
            traces: Vec::new(),
        };
        if let Some(sent) = fuzzing::pass(&pass) {
            check_pass(through(&sent));
        }
    }
    if events.is_empty() {
        return;
    }
    let namespace = Text::from("n");
    let batch = Batch { namespace, previous: before.revision(), events, server: FROM, number: 2, at_ms: -3 };
    let news = News {
        batch: Some(Report::Whole(Arc::new(batch.clone()))),
        verdicts: Vec::new(),
        rows: before.revision(),
        packed: Arc::default(),
    };
    let received = fuzzing::news(through(&fuzzing::response(&news)), FROM, &batch.namespace).expect("readable");
    let Some(Report::Packed(packed)) = &received.batch else { panic!("no batch") };
    assert_eq!(packed.unpack(&before), Ok(batch));
}

/// Encodes and decodes a message.
fn through<M: Message + Default>(message: &M) -> M {
    M::decode(message.encode_to_vec().as_slice()).expect("an encoded message can be decoded")
}
