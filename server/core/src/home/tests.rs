//! White-box tests: no state is left behind.

use super::*;
use crate::command::Command;
use crate::testing::{self, Build, HOME, Lab, open};

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
        lab.accept(open("ann").ttl(ttl));
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
        lab.accept(open("ann"));
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
fn holds_of_sessions_with_another_home_have_no_state() {
    let mut lab = Lab::default();
    lab.accept(open("ann").at(OTHER));
    lab.accept(acquire("ann").at(OTHER));
    assert_eq!(lab.home.held.iter().count(), 0);
}
