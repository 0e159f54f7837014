//! How long sessions outlive the streams that they are attached to.

use tenure_core::testing::{Build, HOME, Lab, TTL, adopt, at, attach, open};
use tenure_core::{EndReason, RenewError};

use super::{GRACE, OTHER, OTHER_STREAM, STREAM, open_on};

/// The one session that ended, as returned by [`Lab::end`].
fn disconnected(session: &str) -> Vec<(String, EndReason)> {
    vec![(session.to_owned(), EndReason::Disconnected)]
}

#[test]
fn session_outlives_its_stream_by_its_grace() {
    let mut lab = Lab::default();
    open_on(&mut lab, "ann", STREAM);
    lab.home.disconnected(STREAM, at(3));
    assert_eq!(lab.home.next_deadline(), Some(at(5)));
    assert_eq!(lab.home.remaining("ann", at(3)), Some(GRACE));
    assert_eq!(lab.home.keep_alive("ann", STREAM, at(4)), Err(RenewError::NotAttached));
    assert!(lab.at(4).end().is_empty());
    assert_eq!(lab.at(5).end(), disconnected("ann"));
}

#[test]
fn session_attached_again_within_its_grace_lives_on() {
    let mut lab = Lab::default();
    open_on(&mut lab, "ann", STREAM);
    lab.home.disconnected(STREAM, at(3));
    assert_eq!(lab.home.attach(&"ann".into(), OTHER_STREAM, at(4)), Ok(None));
    lab.home.disconnected(STREAM, at(4));
    assert!(lab.at(13).end().is_empty(), "its TTL counts again");
    assert_eq!(lab.at(14).end(), [("ann".to_owned(), EndReason::Expired)]);
}

#[test]
fn session_cannot_be_renewed_or_attached_after_its_grace() {
    let mut lab = Lab::default();
    open_on(&mut lab, "ann", STREAM);
    lab.home.disconnected(STREAM, at(3));
    let over = RenewError::Ended(EndReason::Disconnected);
    assert_eq!(lab.home.attach(&"ann".into(), OTHER_STREAM, at(5)), Err(over));
    assert_eq!(lab.home.attach(&"ann".into(), OTHER_STREAM, at(4)), Err(over), "whatever came in between");
    assert_eq!(lab.home.renew("ann", at(4)), Err(over));
    assert_eq!(lab.at(5).end(), disconnected("ann"));
}

#[test]
fn session_without_a_grace_is_not_affected_by_the_end_of_its_stream() {
    let mut lab = Lab::default();
    lab.accept(open("ann"));
    lab.home.attach(&"ann".into(), STREAM, at(0)).expect("open");
    lab.home.disconnected(STREAM, at(3));
    assert!(lab.at(9).end().is_empty());
    assert_eq!(lab.at(10).expire(), ["ann"]);
}

#[test]
fn stream_that_a_session_has_left_ends_nothing() {
    let mut lab = Lab::default();
    open_on(&mut lab, "ann", STREAM);
    assert_eq!(lab.home.attach(&"ann".into(), OTHER_STREAM, at(1)), Ok(Some(STREAM)));
    lab.home.disconnected(STREAM, at(2));
    assert!(lab.at(10).end().is_empty());
    lab.home.keep_alive("ann", OTHER_STREAM, at(10)).expect("attached");
    lab.home.disconnected(OTHER_STREAM, at(10));
    assert_eq!(lab.at(12).end(), disconnected("ann"));
}

#[test]
fn session_that_moved_away_does_not_end_with_its_old_stream() {
    let mut lab = Lab::default();
    open_on(&mut lab, "ann", STREAM);
    lab.at(1).accept(attach("ann", OTHER));
    lab.home.disconnected(STREAM, at(1));
    assert!(lab.at(30).end().is_empty());
    // Nor does the session end with that stream when it moves back.
    lab.accept(attach("ann", HOME));
    lab.home.disconnected(STREAM, at(30));
    assert_eq!(lab.home.remaining("ann", at(30)), Some(TTL));
}

#[test]
fn adopted_session_has_no_grace_until_it_has_a_stream_here() {
    let mut lab = Lab::default();
    lab.accept(open("ann").grace(GRACE).at(OTHER));
    lab.at(100).accept(adopt(OTHER, HOME));
    assert_eq!(lab.home.remaining("ann", at(100)), Some(TTL));
    lab.home.attach(&"ann".into(), STREAM, at(101)).expect("at home");
    lab.home.disconnected(STREAM, at(102));
    assert_eq!(lab.at(104).end(), disconnected("ann"));
}

#[test]
fn stream_that_broke_before_it_was_attached_starts_the_grace() {
    let mut lab = Lab::default();
    lab.accept(open("ann").grace(GRACE));
    lab.home.attach_failed(&"ann".into(), at(1));
    assert_eq!(lab.at(3).end(), disconnected("ann"));
    // A session with another stream is not affected.
    open_on(&mut lab, "bob", STREAM);
    lab.home.attach_failed(&"bob".into(), at(4));
    assert!(lab.at(12).end().is_empty());
}

#[test]
fn grace_counts_anew_after_a_refresh() {
    let mut lab = Lab::default();
    open_on(&mut lab, "ann", STREAM);
    lab.home.disconnected(STREAM, at(3));
    lab.home.refresh(at(4));
    assert!(lab.at(5).end().is_empty());
    assert_eq!(lab.at(6).end(), disconnected("ann"));
}

#[test]
fn session_expires_within_its_grace_if_its_ttl_passes() {
    let mut lab = Lab::default();
    open_on(&mut lab, "ann", STREAM);
    lab.home.disconnected(STREAM, at(9));
    assert_eq!(lab.at(10).expire(), ["ann"]);
}

#[test]
fn session_renewed_by_a_call_has_its_ttl_after_its_stream_ends() {
    let mut lab = Lab::default();
    open_on(&mut lab, "ann", STREAM);
    assert_eq!(lab.home.renew("ann", at(1)), Ok(TTL));
    lab.home.disconnected(STREAM, at(2));
    assert!(lab.at(10).end().is_empty());
    assert_eq!(lab.at(11).expire(), ["ann"]);
    // This holds also if the stream has broken before.
    open_on(lab.at(20), "bob", STREAM);
    lab.home.disconnected(STREAM, at(21));
    assert_eq!(lab.home.renew("bob", at(22)), Ok(TTL));
    assert!(lab.at(31).end().is_empty());
    assert_eq!(lab.at(32).expire(), ["bob"]);
}

#[test]
fn changed_grace_applies_from_the_next_attachment() {
    let mut lab = Lab::default();
    open_on(&mut lab, "ann", STREAM);
    // The attached client was notified of a grace of two seconds, and relies on it.
    lab.at(1).accept(open("ann").grace(at(1)));
    lab.home.disconnected(STREAM, at(2));
    assert!(lab.at(3).end().is_empty());
    assert_eq!(lab.home.attach(&"ann".into(), OTHER_STREAM, at(3)), Ok(None));
    lab.home.disconnected(OTHER_STREAM, at(4));
    assert_eq!(lab.at(5).end(), disconnected("ann"));
    open_on(&mut lab, "bob", STREAM);
    lab.accept(open("bob"));
    lab.home.attach(&"bob".into(), STREAM, at(5)).expect("at home");
    lab.home.disconnected(STREAM, at(6));
    assert!(lab.at(14).end().is_empty(), "it has no grace any more");
}

#[test]
fn shorter_ttl_does_not_delay_the_end_of_the_grace() {
    let mut lab = Lab::default();
    open_on(&mut lab, "ann", STREAM);
    lab.at(1).accept(open("ann").ttl(at(5)).grace(GRACE));
    lab.home.disconnected(STREAM, at(2));
    assert_eq!(lab.at(4).end(), disconnected("ann"));
}
