//! Sessions with a disconnect grace.

use std::time::Duration;

use tenure_proto::v1;
use tenure_proto::v1::answer::Kind as Answered;
use tenure_proto::v1::command::Kind as Commanded;

use super::{Bench, TTL, kept_for, session};
use crate::convert::to_wire;
use crate::error::LostReason;
use crate::options::SessionOptions;
use crate::presence::SessionState;
use crate::progress::Progress;
use crate::protocol::Verdict;
use crate::session::Session;

const GRACE: Duration = Duration::from_millis(600);

/// A grace less drift and margin: what a hold is good for after the sending of a ping.
const SAFE: Duration = Duration::from_millis(600 - 6 - 30);

/// A TTL that does not matter beside the grace.
const LONG: Duration = Duration::from_secs(10);

impl Bench {
    fn graced_session(&mut self, id: &str) -> Session {
        let options = SessionOptions::new().ttl(LONG).disconnect_grace(GRACE);
        self.session_with(id, options, graced(id, &[]))
    }
}

fn graced(id: &str, tokens: &[u64]) -> v1::Session {
    v1::Session { ttl: Some(to_wire(LONG)), disconnect_grace: Some(to_wire(GRACE)), ..session(id, tokens) }
}

fn attached(id: &str, tokens: &[u64]) -> Answered {
    Answered::AttachedSession(Box::new(v1::AttachedSession { session: Some(graced(id, tokens)), revision: 9 }))
}

#[test]
fn session_is_renewed_at_a_third_of_its_grace() {
    let mut bench = Bench::new();
    let session = bench.graced_session("a");
    assert_eq!(session.disconnect_grace(), Some(GRACE));
    for _ in 0..20 {
        bench.pass(GRACE / 3);
        let (command, _) = bench.sent_one();
        bench.receive(command, kept_for("a", LONG));
        assert_eq!(session.presence().until(), bench.now.after(SAFE), "counted from the sending of the ping");
    }
    bench.pass(GRACE / 3 + GRACE / 4);
    assert_eq!(bench.engine.take_verdict(), Some(Verdict::Broken), "there is still time to go elsewhere");
}

#[test]
fn hold_is_lost_after_a_silence_of_the_grace() {
    let mut bench = Bench::new();
    let session = bench.graced_session("a");
    let guard = bench.hold(&session, 7);
    let opened = bench.now;
    bench.pass(Duration::from_millis(100));
    bench.engine.disconnected("gone".to_owned());
    bench.pass(SAFE - Duration::from_millis(101));
    assert_eq!(session.presence().check(bench.now), SessionState::AtRisk);
    bench.pass(Duration::from_millis(1));
    assert_eq!(bench.now, opened.after(SAFE));
    assert_eq!(guard.lost_reason(), Some(LostReason::Unrenewed));
    // That the server may still have the session revives nothing: it is closed, so that others need not wait.
    bench.engine.connected(bench.now);
    assert!(matches!(bench.sent_one(), (_, Commanded::CloseSession(_))));
}

#[test]
fn hold_survives_failover_within_the_grace() {
    let mut bench = Bench::new();
    let session = bench.graced_session("a");
    let guard = bench.hold(&session, 7);
    for _ in 0..3 {
        bench.pass(SAFE - Duration::from_millis(100));
        bench.reconnect();
        let (command, _) = bench.sent_one();
        let sent = bench.now;
        bench.pass(Duration::from_millis(40));
        bench.receive(command, attached("a", &[7]));
        assert!(guard.is_valid());
        assert_eq!(session.presence().until(), sent.after(SAFE), "counted from the sending of the attach");
    }
}

#[test]
fn stalled_session_is_renewed_within_the_grace_after_a_tick() {
    let mut bench = Bench::new();
    let progress = Progress::begun(GRACE, bench.now);
    let options = SessionOptions::new().ttl(LONG).disconnect_grace(GRACE).renew_while(&progress);
    let _session = bench.session_with("a", options, graced("a", &[]));
    for _ in 0..2 {
        bench.pass(GRACE / 3);
        let (command, _) = bench.sent_one();
        bench.receive(command, kept_for("a", LONG));
    }
    bench.pass(GRACE / 2);
    assert!(bench.sent().is_empty(), "stalled since the third renewal was due");
    progress.tick_at(bench.now);
    // Progress is checked eight times in a third of the grace.
    bench.pass(GRACE / 24);
    assert!(matches!(bench.sent_one(), (_, Commanded::KeepAlive(_))));
}

#[test]
fn grace_returned_on_attaching_is_in_force() {
    let mut bench = Bench::new();
    let session = bench.session("a");
    bench.reconnect();
    let (command, _) = bench.sent_one();
    bench.receive(command, attached("a", &[]));
    bench.pass(GRACE / 3);
    assert!(matches!(bench.sent_one(), (_, Commanded::KeepAlive(_))));
    bench.pass(SAFE - GRACE / 3);
    assert!(matches!(session.presence().check(bench.now), SessionState::Lost(_)));
    let sent = bench.sent();
    assert!(matches!(sent.last(), Some((_, Commanded::CloseSession(_)))), "noticed by a timer: {sent:?}");
}

#[test]
fn grace_that_the_server_does_not_grant_is_not_in_force() {
    let mut bench = Bench::new();
    let options = SessionOptions::new().ttl(TTL).disconnect_grace(GRACE);
    let session = bench.session_with("a", options, session("a", &[]));
    assert_eq!(session.disconnect_grace(), None);
    assert_eq!(session.presence().until(), bench.now.after(Duration::from_millis(1_128)));
}
