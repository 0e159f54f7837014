//! White-box tests: no state is left behind.

use super::*;
use crate::command::Command;
use crate::testing::{self, Build, HOME, Lab, TTL, open};

const OTHER: ServerId = ServerId(2);

/// Acquires the lock "a" in an open session.
fn acquire(session: &str) -> Command {
    testing::acquire(session, "a").in_open_session()
}

#[test]
fn session_has_one_timer_however_often_it_changes_and_is_renewed() {
    let mut lab = Lab::default();
    for step in 0..100u64 {
        let now = Duration::from_millis(step);
        lab.now = now;
        let ttl = Duration::from_secs(if step % 2 == 0 { 10 } else { 86_400 });
        lab.accept(open("ann").ttl(ttl).grace(ttl / 2));
        lab.home.attach(&"ann".into(), StreamId(step), now).expect("kept");
        lab.home.keep_alive("ann", StreamId(step), now).expect("kept");
        lab.home.disconnected(StreamId(step), now);
        lab.home.renew("ann", now).expect("kept");
        assert_eq!(lab.home.timers.len(), 1);
    }
}

#[test]
fn ended_sessions_and_claims_leave_no_state() {
    let mut lab = Lab::default();
    for step in 0..100u64 {
        let now = Duration::from_millis(step);
        lab.now = now;
        lab.accept(open("ann").grace(TTL / 2));
        lab.accept(acquire("ann").min_hold(Duration::from_millis(step % 2)));
        let claim = lab.table.claims().next().expect("made").id;
        lab.home.mark_abandoned(claim, now);
        lab.home.mark_abandoned(claim, now + Duration::from_millis(1));
        lab.home.register_caller(claim);
        lab.home.mark_abandoned(claim, now);
        lab.close("ann");
        lab.accept(Command::EndLingering { claim, home: HOME });
        assert_eq!((lab.home.timers.len(), lab.home.sessions.len(), lab.home.held.iter().count()), (0, 0, 0));
    }
}

#[test]
fn streams_left_by_their_sessions_leave_no_state() {
    let mut lab = Lab::default();
    let now = Duration::ZERO;
    lab.accept(open("ann").grace(TTL / 2));
    for stream in 0..100 {
        lab.home.attach(&"ann".into(), StreamId(stream), now).expect("kept");
        assert_eq!(lab.home.by_stream.len(), 1);
    }
    lab.close("ann");
    assert_eq!(lab.home.by_stream.len(), 0);
}

#[test]
fn holds_of_sessions_with_another_home_have_no_state() {
    let mut lab = Lab::default();
    lab.accept(open("ann").at(OTHER));
    lab.accept(acquire("ann").at(OTHER));
    assert_eq!(lab.home.held.iter().count(), 0);
}

#[test]
fn session_is_not_affected_by_the_end_of_another_stream() {
    let (now, second) = (Duration::ZERO, Duration::from_secs(1));
    let mut timer = SessionTimer::new(Revision(1), second * 10, Some(second), now);
    timer.attach(StreamId(1));
    assert!(!timer.disconnect(Some(StreamId(2)), now) && !timer.disconnect(None, now));
    assert_eq!(timer.stream(), Some(StreamId(1)));
    assert!(timer.disconnect(Some(StreamId(1)), now));
}
