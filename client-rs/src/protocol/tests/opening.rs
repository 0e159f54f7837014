//! Sessions whose opening fails or is cancelled.

use std::time::Duration;

use tenure_proto::v1;
use tenure_proto::v1::answer::Kind as Answered;
use tenure_proto::v1::command::Kind as Commanded;

use super::{Bench, CALL, TTL, session};
use crate::error::LostReason;
use crate::options::SessionOptions;
use crate::protocol::Verdict;

#[test]
fn server_that_cannot_open_a_session_is_left_unless_it_serves_another() {
    for serves_another in [false, true] {
        let mut bench = Bench::new();
        let _other = serves_another.then(|| bench.session("other"));
        let _answer = bench.opening("a", SessionOptions::new().ttl(TTL));
        for _ in 0..3 {
            let (command, kind) = bench.sent_one();
            assert!(matches!(kind, Commanded::OpenSession(_)));
            bench.refuse(command, "STORE_UNAVAILABLE");
            bench.pass(Duration::from_millis(80));
        }
        assert_eq!(bench.engine.take_verdict(), (!serves_another).then_some(Verdict::Leave));
    }
}

#[test]
fn late_reply_to_a_cancelled_opening_opens_no_other() {
    let mut bench = Bench::new();
    let _cancelled = bench.opening("a", SessionOptions::new().ttl(TTL));
    let (command, _) = bench.sent_one();
    bench.pass(CALL);
    let (closing, _) = bench.sent_one();
    let mut next = bench.opening("a", SessionOptions::new().ttl(TTL));
    let granted = v1::OpenSessionResponse { session: Some(session("a", &[])) };
    bench.receive(command, Answered::OpenSession(Box::new(granted)));
    assert!(next.try_recv().is_err(), "that session is being closed");
    bench.receive(closing, Answered::CloseSession(v1::CloseSessionResponse {}));
    assert!(matches!(bench.sent_one(), (_, Commanded::OpenSession(_))));
}

#[test]
fn cancelled_opening_does_not_keep_its_id() {
    let mut bench = Bench::new();
    drop(bench.opening("a", SessionOptions::new().ttl(TTL)));
    assert!(matches!(bench.sent_one(), (_, Commanded::OpenSession(_))));
    let mut next = bench.opening("a", SessionOptions::new().ttl(TTL));
    let (closing, kind) = bench.sent_one();
    assert!(matches!(kind, Commanded::CloseSession(_)));
    assert!(next.try_recv().is_err(), "not refused");
    bench.receive(closing, Answered::CloseSession(v1::CloseSessionResponse {}));
    assert!(matches!(bench.sent_one(), (_, Commanded::OpenSession(_))));
}

#[test]
fn session_whose_id_another_program_uses_is_lost_and_not_closed() {
    let mut bench = Bench::new();
    let session = bench.session("a");
    bench.reconnect();
    let (command, _) = bench.sent_one();
    bench.refuse(command, "SESSION_IN_USE");
    assert_eq!(session.lost_reason(), Some(LostReason::InUse));
    assert!(bench.sent().is_empty(), "closing it would end the session of the other program");
}
