//! The home's timers, with time passed in.

mod clients;
mod lingering;
mod owners;
mod pauses;

use std::time::Duration;

use tenure_core::testing::{self, Build, HOME, Lab, TTL, adopt, at, close, move_to, open};
use tenure_core::{Command, EndReason, RenewError, ServerId};

const OTHER: ServerId = ServerId(2);

/// Acquires the lock "a" in an open session.
fn acquire(session: &str) -> Command {
    testing::acquire(session, "a").in_open_session()
}

#[test]
fn session_expires_a_ttl_after_its_last_renewal() {
    let mut lab = Lab::default();
    lab.accept(open("ann"));
    assert_eq!(lab.home.next_deadline(), Some(at(10)));
    assert!(lab.at(9).expire().is_empty());
    assert_eq!(lab.home.renew("ann", at(9)), Ok(TTL));
    assert!(lab.at(10).expire().is_empty(), "it was renewed");
    assert!(lab.at(18).expire().is_empty());
    assert_eq!(lab.at(19).expire(), ["ann"]);
    assert_eq!(lab.home.renew("ann", at(19)), Err(RenewError::NotHome), "nothing revives it");
}

#[test]
fn renewal_after_the_ttl_is_rejected_even_before_the_end_is_committed() {
    let mut lab = Lab::default();
    lab.accept(open("ann"));
    assert_eq!(lab.home.renew("ann", at(10)), Err(RenewError::Ended(EndReason::Expired)));
    assert_eq!(lab.home.renew("ann", at(9)), Err(RenewError::Ended(EndReason::Expired)), "whatever came in between");
    assert_eq!(lab.at(10).expire(), ["ann"]);
}

#[test]
fn end_of_a_session_that_could_not_be_written_stays_due() {
    let mut lab = Lab::default();
    lab.accept(open("ann"));
    let due = lab.home.due(at(10));
    assert_eq!(due.len(), 1);
    assert!(lab.home.due(at(11)).is_empty(), "it is under way");
    lab.home.retry_at(&due[0], at(12));
    assert_eq!(lab.at(12).expire(), ["ann"]);
}

#[test]
fn refresh_gives_every_session_a_full_ttl() {
    let mut lab = Lab::default();
    lab.accept(open("ann"));
    lab.home.refresh(at(9));
    assert!(lab.at(10).expire().is_empty());
    assert_eq!(lab.home.remaining("ann", at(10)), Some(Duration::from_secs(9)));
    assert_eq!(lab.at(19).expire(), ["ann"]);
}

#[test]
fn refresh_does_not_revive_a_session_whose_ttl_had_passed() {
    let mut lab = Lab::default();
    lab.accept(open("s"));
    let due = lab.home.due(at(10));
    assert_eq!(due.len(), 1);
    // The end is being written, which takes so long that the lease expires meanwhile, and is regained.
    lab.home.refresh(at(10));
    assert_eq!(lab.home.renew("s", at(11)), Err(RenewError::Ended(EndReason::Expired)));
    lab.home.retry_at(&due[0], at(12));
    assert_eq!(lab.at(12).expire(), ["s"]);
}

/// In the lost part of the history, the session may have been renewed at another home.
#[test]
fn loss_gives_every_session_a_full_ttl_even_if_its_end_was_under_way() {
    let mut lab = Lab::default();
    lab.accept(open("ann"));
    lab.at(5).accept(open("bob"));
    let under_way = lab.home.due(at(10));
    assert!(matches!(&*under_way, [end] if lab.home.is_still_due(end)));
    lab.at(11).lose();
    assert!(!lab.home.is_still_due(&under_way[0]));
    assert_eq!(lab.home.renew("bob", at(12)), Ok(Duration::from_secs(10)));
    assert_eq!(lab.at(20).expire(), [""; 0]);
    assert_eq!(lab.at(21).expire(), ["ann"]);
    assert_eq!(lab.at(22).expire(), ["bob"]);
}

/// In the lost part of the history, the session may have moved to a server that is cut off and has some of its lease
/// left: until the lease expires, that server accepts the session's renewals.
#[test]
fn loss_gives_sessions_a_full_ttl_after_the_longest_lease_of_a_server() {
    let mut lab = Lab::default();
    for lease in [at(2), at(3), at(1)] {
        lab.home.observe_lease(lease);
    }
    lab.accept(open("kept"));
    lab.accept(open("adopted").at(OTHER));
    lab.at(5).lose();
    lab.accept(open("later"));
    lab.at(6).accept(adopt(OTHER, HOME));
    assert_eq!(lab.home.remaining("kept", at(6)), Some(at(12)));
    assert_eq!(lab.at(15).expire(), ["later"], "it is younger than what was lost");
    assert_eq!(lab.at(17).expire(), [""; 0]);
    assert_eq!(lab.at(18).expire(), ["adopted", "kept"]);
}

#[test]
fn end_of_a_session_is_dropped_if_it_has_moved_away_and_back() {
    let mut lab = Lab::default();
    lab.accept(open("ann"));
    let under_way = lab.home.due(at(10));
    for home in [OTHER, HOME] {
        lab.at(11).accept(move_to("ann", home));
        assert!(!lab.home.is_still_due(&under_way[0]));
    }
    assert_eq!(lab.at(20).expire(), [""; 0]);
    assert_eq!(lab.at(21).expire(), ["ann"]);
}

#[test]
fn home_reports_its_server_and_its_sessions() {
    let mut lab = Lab::default();
    assert_eq!((lab.home.me(), lab.home.session_count()), (HOME, 0));
    lab.accept(open("ann"));
    lab.accept(open("bob").at(OTHER));
    assert_eq!(lab.home.session_count(), 1);
}

#[test]
fn abandonment_that_could_not_be_written_stays_due() {
    let mut lab = Lab::default();
    lab.accept(open("ann"));
    lab.accept(open("bob"));
    lab.grant(acquire("ann"));
    let claim = lab.queue(acquire("bob"));
    assert!(!lab.home.is_abandoned(claim.id));
    lab.home.mark_abandoned(claim.id, at(1));
    assert!(lab.home.is_abandoned(claim.id));
    let due = lab.home.due(at(6));
    assert_eq!(due, [Command::Abandon { claim: claim.id, home: HOME }]);
    assert!(lab.home.due(at(7)).is_empty(), "it is under way");
    lab.home.retry_at(&due[0], at(8));
    assert_eq!(lab.home.due(at(8)), due);
}

#[test]
fn rebuild_keeps_deadlines_and_drops_closed_sessions() {
    let mut lab = Lab::default();
    lab.accept(open("ann"));
    lab.accept(open("bob"));
    lab.accept(open("eve").at(OTHER));
    lab.accept_unobserved(close("bob"));
    lab.home.rebuild(&lab.table, at(4));
    assert_eq!(lab.home.session_count(), 1);
    assert_eq!(lab.home.renew("bob", at(4)), Err(RenewError::NotHome));
    assert_eq!(lab.home.remaining("ann", at(4)), Some(at(6)), "it was kept before");
}

#[test]
fn rebuild_renews_no_session_and_drops_moved_and_reopened_ones() {
    let mut lab = Lab::default();
    lab.accept(open("ann"));
    lab.accept(open("bob"));
    lab.accept(open("eve"));
    lab.accept(open("zoe").at(OTHER));
    lab.accept_unobserved(move_to("bob", OTHER));
    lab.accept_unobserved(close("eve"));
    lab.accept_unobserved(open("eve"));
    lab.accept_unobserved(open("zoe").at(OTHER));
    lab.home.rebuild(&lab.table, at(4));
    assert_eq!(lab.home.remaining("ann", at(4)), Some(at(6)));
    assert_eq!(lab.home.renew("bob", at(4)), Err(RenewError::NotHome));
    assert_eq!(lab.home.renew("zoe", at(4)), Err(RenewError::NotHome));
    assert_eq!(lab.home.remaining("eve", at(4)), Some(TTL), "another one of the same name");
    assert_eq!(lab.at(10).expire(), ["ann"]);
    assert_eq!(lab.at(14).expire(), ["eve"]);
}

#[test]
fn session_that_moves_away_is_no_longer_kept() {
    let mut lab = Lab::default();
    lab.accept(open("ann"));
    lab.at(1).accept(move_to("ann", OTHER));
    assert_eq!(lab.home.renew("ann", at(2)), Err(RenewError::NotHome));
    assert!(lab.at(30).expire().is_empty());
}

#[test]
fn adopted_sessions_live_for_a_full_ttl() {
    let mut lab = Lab::default();
    lab.accept(open("ann").at(OTHER));
    assert_eq!(lab.home.session_count(), 0);
    lab.at(100).accept(adopt(OTHER, HOME));
    assert_eq!(lab.home.remaining("ann", at(100)), Some(TTL));
    assert!(lab.at(109).expire().is_empty());
    assert_eq!(lab.at(110).expire(), ["ann"]);
}

#[test]
fn shorter_ttl_applies_from_the_next_renewal() {
    let mut lab = Lab::default();
    lab.accept(open("ann"));
    lab.at(1).accept(open("ann").ttl(at(3)));
    assert!(lab.at(9).expire().is_empty(), "the client relies on ten seconds since its last renewal");
    assert_eq!(lab.home.renew("ann", at(9)), Ok(at(3)));
    assert!(lab.at(11).expire().is_empty());
    assert_eq!(lab.at(12).expire(), ["ann"]);
}

#[test]
fn wait_is_abandoned_unless_its_caller_reconnects() {
    let mut lab = Lab::default();
    lab.accept(open("ann"));
    lab.accept(open("bob"));
    lab.grant(acquire("ann"));
    let claim = lab.queue(acquire("bob"));
    lab.home.mark_abandoned(claim.id, at(1));
    lab.home.register_caller(claim.id);
    lab.at(6).expire();
    assert!(lab.table.claim(claim.id).is_some(), "its caller has reconnected");
    lab.home.mark_abandoned(claim.id, at(6));
    lab.home.renew("bob", at(9)).expect("open");
    lab.home.renew("ann", at(9)).expect("open");
    lab.at(11).expire();
    assert!(lab.table.claim(claim.id).is_none(), "no caller has reconnected");
}

#[test]
fn home_reports_the_time_since_the_renewal_of_its_sessions() {
    let mut lab = Lab::default();
    lab.at(1).accept(open("ann"));
    lab.accept(open("bob").at(OTHER));
    assert!(lab.home.has_session("ann") && !lab.home.has_session("bob"));
    assert_eq!(lab.home.since_renewed("ann", at(4)), Some(at(3)));
    lab.home.renew("ann", at(5)).expect("open");
    assert_eq!(lab.home.since_renewed("ann", at(7)), Some(at(2)));
    assert_eq!(lab.home.since_renewed("bob", at(7)), None);
}
