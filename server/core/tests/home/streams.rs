//! How long sessions outlive the streams that they are attached to.

use tenure_core::{Command, EndReason, RenewError};

use super::lab::{GRACE, Lab, ME, OTHER, OTHER_STREAM, STREAM, TTL, at};

/// The one session that a test ended, as returned by [`Lab::end`].
fn disconnected(session: &str) -> Vec<(String, EndReason)> {
    vec![(session.to_owned(), EndReason::Disconnected)]
}

#[test]
fn a_session_outlives_its_stream_by_its_grace() {
    let mut lab = Lab::new();
    lab.open_on("ann", STREAM, at(0));
    lab.home.disconnected(STREAM, at(3));
    assert_eq!(lab.home.next_deadline(), Some(at(5)));
    assert_eq!(lab.home.remaining("ann", at(3)), Some(GRACE));
    assert_eq!(lab.home.keep_alive("ann", STREAM, at(4)), Err(RenewError::NotAttached));
    assert!(lab.end(at(4)).is_empty());
    assert_eq!(lab.end(at(5)), disconnected("ann"));
}

#[test]
fn a_session_that_comes_back_within_its_grace_lives_on() {
    let mut lab = Lab::new();
    lab.open_on("ann", STREAM, at(0));
    lab.home.disconnected(STREAM, at(3));
    assert_eq!(lab.home.attach(&"ann".into(), OTHER_STREAM, at(4)), Ok(None));
    lab.home.disconnected(STREAM, at(4));
    assert!(lab.end(at(13)).is_empty(), "its TTL counts again");
    assert_eq!(lab.end(at(14)), [("ann".to_owned(), EndReason::Expired)]);
}

#[test]
fn nothing_revives_a_session_after_its_grace() {
    let mut lab = Lab::new();
    lab.open_on("ann", STREAM, at(0));
    lab.home.disconnected(STREAM, at(3));
    let over = RenewError::Ended(EndReason::Disconnected);
    assert_eq!(lab.home.attach(&"ann".into(), OTHER_STREAM, at(5)), Err(over));
    assert_eq!(lab.home.attach(&"ann".into(), OTHER_STREAM, at(4)), Err(over), "whatever came in between");
    assert_eq!(lab.home.renew("ann", at(4)), Err(over));
    assert_eq!(lab.end(at(5)), disconnected("ann"));
}

#[test]
fn without_a_grace_the_end_of_a_stream_means_nothing() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    lab.home.attach(&"ann".into(), STREAM, at(0)).expect("open");
    lab.home.disconnected(STREAM, at(3));
    assert!(lab.end(at(9)).is_empty());
    assert_eq!(lab.expire(at(10)), ["ann"]);
}

#[test]
fn a_stream_that_was_left_for_another_one_ends_nothing() {
    let mut lab = Lab::new();
    lab.open_on("ann", STREAM, at(0));
    assert_eq!(lab.home.attach(&"ann".into(), OTHER_STREAM, at(1)), Ok(Some(STREAM)));
    lab.home.disconnected(STREAM, at(2));
    assert!(lab.end(at(10)).is_empty());
    lab.home.keep_alive("ann", OTHER_STREAM, at(10)).expect("attached");
    lab.home.disconnected(OTHER_STREAM, at(10));
    assert_eq!(lab.end(at(12)), disconnected("ann"));
}

#[test]
fn a_session_that_moved_away_does_not_end_with_its_old_stream() {
    let mut lab = Lab::new();
    lab.open_on("ann", STREAM, at(0));
    lab.ask(Command::AttachSession { session: "ann".into(), home: OTHER, attachment: 0, client: None }, at(1));
    lab.home.disconnected(STREAM, at(1));
    assert!(lab.end(at(30)).is_empty());
    // Nor does the session end with that stream when it moves back.
    lab.ask(Command::AttachSession { session: "ann".into(), home: ME, attachment: 0, client: None }, at(30));
    lab.home.disconnected(STREAM, at(30));
    assert_eq!(lab.home.remaining("ann", at(30)), Some(TTL));
}

#[test]
fn an_adopted_session_has_its_ttl_until_it_has_a_stream_here() {
    let mut lab = Lab::new();
    lab.open_with("ann", TTL, Some(GRACE), OTHER, at(0));
    lab.ask(Command::Adopt { dead: OTHER, by: ME }, at(100));
    assert_eq!(lab.home.remaining("ann", at(100)), Some(TTL));
    lab.home.attach(&"ann".into(), STREAM, at(101)).expect("at home");
    lab.home.disconnected(STREAM, at(102));
    assert_eq!(lab.end(at(104)), disconnected("ann"));
}

#[test]
fn a_stream_that_broke_before_the_attaching_counts_as_broken() {
    let mut lab = Lab::new();
    lab.open_with("ann", TTL, Some(GRACE), ME, at(0));
    lab.home.attach_failed(&"ann".into(), at(1));
    assert_eq!(lab.end(at(3)), disconnected("ann"));
    // A session with another stream is not affected.
    lab.open_on("bob", STREAM, at(3));
    lab.home.attach_failed(&"bob".into(), at(4));
    assert!(lab.end(at(12)).is_empty());
}

#[test]
fn a_grace_counts_anew_after_the_server_could_take_no_renewals() {
    let mut lab = Lab::new();
    lab.open_on("ann", STREAM, at(0));
    lab.home.disconnected(STREAM, at(3));
    lab.home.refresh(at(4));
    assert!(lab.end(at(5)).is_empty());
    assert_eq!(lab.end(at(6)), disconnected("ann"));
}

#[test]
fn the_ttl_ends_a_session_even_within_its_grace() {
    let mut lab = Lab::new();
    lab.open_on("ann", STREAM, at(0));
    lab.home.disconnected(STREAM, at(9));
    assert_eq!(lab.expire(at(10)), ["ann"]);
}

#[test]
fn who_renews_by_a_call_is_promised_the_ttl_whatever_becomes_of_the_stream() {
    let mut lab = Lab::new();
    lab.open_on("ann", STREAM, at(0));
    assert_eq!(lab.home.renew("ann", at(1)), Ok(TTL));
    lab.home.disconnected(STREAM, at(2));
    assert!(lab.end(at(10)).is_empty());
    assert_eq!(lab.expire(at(11)), ["ann"]);
    // This holds also if the stream has broken before.
    lab.open_on("bob", STREAM, at(20));
    lab.home.disconnected(STREAM, at(21));
    assert_eq!(lab.home.renew("bob", at(22)), Ok(TTL));
    assert!(lab.end(at(31)).is_empty());
    assert_eq!(lab.expire(at(32)), ["bob"]);
}

#[test]
fn a_changed_grace_counts_from_the_next_attaching_on() {
    let mut lab = Lab::new();
    lab.open_on("ann", STREAM, at(0));
    // The attached client was notified of a grace of two seconds, and relies on it.
    lab.open_with("ann", TTL, Some(at(1)), ME, at(1));
    lab.home.disconnected(STREAM, at(2));
    assert!(lab.end(at(3)).is_empty());
    assert_eq!(lab.home.attach(&"ann".into(), OTHER_STREAM, at(3)), Ok(None));
    lab.home.disconnected(OTHER_STREAM, at(4));
    assert_eq!(lab.end(at(5)), disconnected("ann"));
    lab.open_on("bob", STREAM, at(5));
    lab.open_with("bob", TTL, None, ME, at(5));
    lab.home.attach(&"bob".into(), STREAM, at(5)).expect("at home");
    lab.home.disconnected(STREAM, at(6));
    assert!(lab.end(at(14)).is_empty(), "it has none any more");
}

#[test]
fn a_shorter_ttl_does_not_delay_the_grace() {
    let mut lab = Lab::new();
    lab.open_on("ann", STREAM, at(0));
    lab.open_with("ann", at(5), Some(GRACE), ME, at(1));
    lab.home.disconnected(STREAM, at(2));
    assert_eq!(lab.end(at(4)), disconnected("ann"));
}
