//! Messages between servers: events in the encoding of the log, and commands by the encoding of their types.

use prost::bytes::Bytes;
use tenure_core::{Revision, ServerId, Text};
use tenure_proto::internal as proto;

use super::bounds;
use crate::sequencer::forwarding::{CommitNotice, Forward};
use crate::store::{Batch, decode_events, encode_events};

/// The maximum size of the events that are sent, in bytes. Followers read a larger batch from the store.
const EVENTS: usize = 1024 * 1024;

/// Encodes a forward.
#[must_use]
pub fn encode_forward(forward: &Forward) -> proto::ForwardRequest {
    let forward = serde_json::to_vec(forward).expect("every command has an encoding");
    proto::ForwardRequest { greeting: None, forward }
}

/// Decodes a forward of this server.
///
/// # Errors
/// If it is not one that a server would send.
pub fn decode_forward(request: &proto::ForwardRequest, from: ServerId) -> Result<Forward, String> {
    let forward: Forward = serde_json::from_slice(&request.forward).map_err(|error| error.to_string())?;
    let checked = forward.requests.iter().try_for_each(|request| bounds::check(&request.command, from));
    checked.map_err(|status| status.message().to_owned())?;
    Ok(forward)
}

/// Encodes a notice.
#[must_use]
pub fn encode_notice(notice: &CommitNotice) -> proto::ForwardResponse {
    let CommitNotice { batch, encoded, decided, rejected, at, rows, is_shared } = notice;
    let batch = batch.as_ref().filter(|batch| !batch.declares_loss()).and_then(|batch| {
        let events = encoded.get_or_init(|| encode_events(&batch.events).into()).clone();
        let (previous, number, at_ms) = (batch.previous.0, batch.number, batch.at_ms);
        (events.len() <= EVENTS).then_some(proto::Batch { previous, number, at_ms, events })
    });
    let (decided, rejected) = (decided.clone(), rejected.clone());
    proto::ForwardResponse { batch, decided, rejected, at: at.0, rows: rows.0, is_shared: *is_shared }
}

/// Decodes a notice of this server.
///
/// # Errors
/// If it is not one that a server would send.
pub fn decode_notice(notice: proto::ForwardResponse, from: ServerId, namespace: &Text) -> Result<CommitNotice, String> {
    let proto::ForwardResponse { batch, decided, rejected, at, rows, is_shared } = notice;
    let batch = batch.map(|batch| decode_batch(batch, from, namespace)).transpose()?;
    let (batch, encoded, at, rows) = (batch.map(Into::into), Default::default(), Revision(at), Revision(rows));
    Ok(CommitNotice { batch, encoded, decided, rejected, at, rows, is_shared })
}

fn decode_batch(batch: proto::Batch, server: ServerId, namespace: &Text) -> Result<Batch, String> {
    let proto::Batch { previous, number, at_ms, events } = batch;
    let events = decode_events(text(&events)?).map_err(|error| error.to_string())?;
    let revisions = events.iter().map(|recorded| recorded.revision.0);
    if events.is_empty() || previous > Revision::MAX.0 || !revisions.eq((previous + 1..).take(events.len())) {
        return Err("batch: at least one event, with revisions that follow the one before".to_owned());
    }
    Ok(Batch { namespace: namespace.clone(), previous: Revision(previous), events, server, number, at_ms })
}

fn text(json: &Bytes) -> Result<&str, String> {
    std::str::from_utf8(json).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tenure_core::testing::{self, Build, filler, label};
    use tenure_core::{
        AskedMode, Change, Command, Declaration, DeclaredClaim, DeclaredMembership, DeclaredSession, Limits, Names,
        Opening, Recorded, Request,
    };

    use super::*;

    const HOME: ServerId = ServerId(7);

    fn forward(requests: Vec<Request>) -> Forward {
        let (number, oldest, after) = (4, 3, Revision(12));
        Forward { number, oldest, after, requests, pauses: Vec::new(), traces: Vec::new() }
    }

    fn declaration() -> Declaration {
        let (names, mode, metadata) = (vec!["a".into(), "b".into()].into(), AskedMode::Shared, label("key", "value"));
        let min_hold = Duration::from_millis(5);
        let opening = Some(DeclaredSession {
            id: "d".into(),
            disconnect_grace: Some(Duration::from_millis(300)),
            opening: testing::opening(),
        });
        let claim = DeclaredClaim { number: 2, names, mode, queue: true, priority: -3, metadata, min_hold };
        let membership = DeclaredMembership { number: 3, group: "g".into(), metadata: label("key", "value") };
        Declaration { session: 1, opening, claims: vec![claim], memberships: vec![membership] }
    }

    fn change(home: ServerId, changes: Vec<Change>) -> Command {
        Command::Change { client: "client".into(), epoch: 2, home, connected: Revision(3), changes }
    }

    fn requests() -> Vec<Request> {
        let opening = Opening { metadata: label("k", "v"), ..testing::opening() };
        let acquire = || testing::acquire("s", ["a", "b"]).opening(Some(opening.clone())).at(HOME).priority(-3);
        let limits = Limits { sessions: Some(1), claims: None, waiters: Some(0), memberships: Some(u32::MAX) };
        let mut requests: Vec<Request> = [
            acquire().labels(label("key", "value")).received(Revision(8)).shared().min_hold(Duration::from_millis(5)),
            acquire().mode(AskedMode::Permits { permits: 2, limit: Some(5) }),
            testing::release("s", "a", Revision(9)),
            testing::open("s").with_opening(|with| *with = opening.clone()).at(HOME),
            Command::MoveSession { session: "s".into(), home: HOME },
            testing::close("s"),
            Command::EndWait { claim: Revision(3), home: HOME },
            change(HOME, vec![Change::Declare(declaration()), Change::Withdraw(2)]),
        ]
        .map(Request::from)
        .into();
        requests.push(acquire().by(Some(&"token:ann".into()), limits));
        requests
    }

    #[test]
    fn forward_decodes_as_encoded() {
        let pauses = vec![(Revision(9), Duration::from_nanos(1_234_567))];
        let traces = vec![(2, format!("00-{}-{}-01", "a".repeat(32), "b".repeat(16)))];
        let sent = Forward { pauses, traces, ..forward(requests()) };
        assert_eq!(decode_forward(&encode_forward(&sent), HOME), Ok(sent));
    }

    #[test]
    fn forward_out_of_bounds_is_rejected() {
        let changed = |alter: &dyn Fn(&mut Declaration)| {
            let mut declaration = declaration();
            alter(&mut declaration);
            change(HOME, vec![Change::Declare(declaration)])
        };
        let permits = |permits, limit| testing::acquire("s", "a").at(HOME).mode(AskedMode::Permits { permits, limit });
        let long = Duration::from_secs(1 << 40);
        let commands = [
            testing::acquire("s", Names::from(Vec::new())).at(HOME),
            testing::acquire("s", ["b", "a"]).at(HOME),
            testing::acquire("s", "a").at(ServerId(8)),
            permits(3, Some(2)),
            permits(1, Some(0)),
            permits(0, None),
            permits(1_000_001, None),
            testing::open("s").at(HOME).with_opening(|opening| opening.ttl = long),
            testing::open("s").at(HOME).with_opening(|opening| opening.ttl = Duration::ZERO),
            testing::release("s\0", "a", Revision(1)),
            testing::evict("a"),
            change(ServerId(8), vec![Change::Withdraw(1)]),
            changed(&|declaration| declaration.session = u64::MAX),
            changed(&|declaration| declaration.claims[0].names = Vec::new().into()),
            changed(&|declaration| declaration.claims[0].number = 0),
            changed(&|declaration| declaration.claims[0].min_hold = long),
            changed(&|declaration| declaration.memberships[0].group = "".into()),
        ];
        for command in commands {
            let sent = encode_forward(&forward(vec![command.clone().into()]));
            assert!(decode_forward(&sent, HOME).is_err(), "{command:?}");
        }
    }

    fn notice(previous: u64, revisions: &[u64]) -> CommitNotice {
        let recorded = |revision: &u64| Recorded { revision: Revision(*revision), event: filler(1) };
        let (previous, events) = (Revision(previous), revisions.iter().map(recorded).collect());
        let batch = Batch { namespace: "n".into(), previous, events, server: HOME, number: 2, at_ms: -3 };
        let (decided, rejected) = (vec![1, 2], vec![3]);
        let (batch, encoded) = (Some(Arc::new(batch)), Arc::default());
        CommitNotice { batch, encoded, decided, rejected, at: Revision(6), rows: Revision(1), is_shared: true }
    }

    #[test]
    fn notice_decodes_as_encoded() {
        let sent = notice(4, &[5, 6]);
        let received = decode_notice(encode_notice(&sent), HOME, &"n".into()).expect("readable");
        assert_eq!((received.batch, received.decided, received.rejected), (sent.batch, sent.decided, sent.rejected));
        assert_eq!((received.at, received.rows, received.is_shared), (sent.at, sent.rows, sent.is_shared));
    }

    #[test]
    fn notice_whose_revisions_do_not_follow_is_rejected() {
        for (previous, revisions) in [(4, &[5, 7][..]), (4, &[6]), (4, &[]), (u64::MAX, &[0])] {
            let sent = encode_notice(&notice(previous, revisions));
            assert!(decode_notice(sent, HOME, &"n".into()).is_err(), "{previous} {revisions:?}");
        }
    }
}
