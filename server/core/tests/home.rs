//! The home's timers, with time passed in.

#[path = "home/lab.rs"]
mod lab;
#[path = "home/pauses.rs"]
mod pauses;
#[path = "home/streams.rs"]
mod streams;

use std::time::Duration;

use lab::{Lab, ME, OTHER, TTL, at};
use tenure_core::{Command, EndReason, NotKept, Outcome, StreamId};

#[test]
fn a_session_lives_for_its_ttl_and_not_longer() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    assert_eq!(lab.home.next_deadline(), Some(at(10)));
    assert!(lab.expire(at(9)).is_empty());
    assert_eq!(lab.home.renew("ann", at(9)), Ok(TTL));
    assert!(lab.expire(at(10)).is_empty(), "it was renewed");
    assert!(lab.expire(at(18)).is_empty());
    assert_eq!(lab.expire(at(19)), ["ann"]);
    assert_eq!(lab.home.renew("ann", at(19)), Err(NotKept::Elsewhere), "nothing revives it");
}

#[test]
fn a_late_renewal_revives_nothing_even_before_the_end_is_committed() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    assert_eq!(lab.home.renew("ann", at(10)), Err(NotKept::Over(EndReason::Expired)));
    assert_eq!(lab.home.renew("ann", at(9)), Err(NotKept::Over(EndReason::Expired)), "whatever came in between");
    assert_eq!(lab.expire(at(10)), ["ann"]);
}

#[test]
fn an_end_that_could_not_be_written_stays_due() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    let due = lab.home.due(at(10));
    assert_eq!(due.len(), 1);
    assert!(lab.home.due(at(11)).is_empty(), "it is under way");
    lab.home.again(&due[0], at(12));
    assert_eq!(lab.expire(at(12)), ["ann"]);
}

#[test]
fn a_fresh_ttl_for_all_after_the_server_could_take_no_renewals() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    lab.home.refresh(at(9));
    assert!(lab.expire(at(10)).is_empty());
    assert_eq!(lab.home.remaining("ann", at(10)), Some(Duration::from_secs(9)));
    assert_eq!(lab.expire(at(19)), ["ann"]);
}

#[test]
fn a_session_that_moves_away_is_no_longer_kept() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    lab.ask(Command::AttachSession { session: "ann".into(), home: OTHER }, at(1));
    assert_eq!(lab.home.renew("ann", at(2)), Err(NotKept::Elsewhere));
    assert!(lab.expire(at(30)).is_empty());
}

#[test]
fn adopted_sessions_live_for_a_full_ttl() {
    let mut lab = Lab::new();
    lab.open("ann", OTHER, at(0));
    assert_eq!(lab.home.session_count(), 0);
    lab.ask(Command::Adopt { dead: OTHER, by: ME }, at(100));
    assert_eq!(lab.home.remaining("ann", at(100)), Some(TTL));
    assert!(lab.expire(at(109)).is_empty());
    assert_eq!(lab.expire(at(110)), ["ann"]);
}

#[test]
fn a_shorter_ttl_takes_nothing_from_what_was_promised() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    lab.open_with("ann", at(3), None, ME, at(1));
    assert!(lab.expire(at(9)).is_empty(), "whoever renewed before counts on ten seconds");
    assert_eq!(lab.home.renew("ann", at(9)), Ok(at(3)));
    assert!(lab.expire(at(11)).is_empty());
    assert_eq!(lab.expire(at(12)), ["ann"]);
}

#[test]
fn a_minimum_hold_counts_from_the_grant() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    let Outcome::Held { claim, .. } = lab.acquire("ann", at(6), at(1)) else { panic!("free") };
    let token = claim.token().expect("held");
    lab.ask(Command::Release { session: "ann".into(), name: "a".into(), token }, at(2));
    assert!(lab.table.lock("a").is_some(), "it lingers");
    lab.expire(at(6));
    assert!(lab.table.lock("a").is_some(), "until six seconds after the grant");
    lab.expire(at(7));
    assert!(lab.table.lock("a").is_none());
}

#[test]
fn a_wait_that_nobody_attends_to_is_given_up_unless_somebody_comes_back() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    lab.open("bob", ME, at(0));
    lab.acquire("ann", Duration::ZERO, at(0));
    let Outcome::Waiting { claim, .. } = lab.acquire("bob", Duration::ZERO, at(0)) else { panic!("held by ann") };
    lab.home.leave(claim.id, at(1));
    lab.home.attend(claim.id);
    lab.expire(at(6));
    assert!(lab.table.claim(claim.id).is_some(), "somebody came back");
    lab.home.leave(claim.id, at(6));
    lab.home.renew("bob", at(9)).expect("open");
    lab.home.renew("ann", at(9)).expect("open");
    lab.expire(at(11));
    assert!(lab.table.claim(claim.id).is_none(), "nobody came back");
}

#[test]
fn waits_that_come_with_a_session_are_given_up_unless_asked_for() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    lab.open("bob", OTHER, at(0));
    lab.acquire("ann", Duration::ZERO, at(0));
    let Outcome::Waiting { claim, .. } = lab.acquire("bob", Duration::ZERO, at(0)) else { panic!("held by ann") };
    lab.ask(Command::Adopt { dead: OTHER, by: ME }, at(1));
    lab.home.renew("ann", at(5)).expect("open");
    lab.expire(at(5));
    assert!(lab.table.claim(claim.id).is_some());
    lab.expire(at(6));
    assert!(lab.table.claim(claim.id).is_none());
}

#[test]
fn only_the_stream_attached_last_keeps_a_session_alive() {
    let mut lab = Lab::new();
    let (old, new) = (StreamId(1), StreamId(2));
    lab.open("ann", ME, at(0));
    assert_eq!(lab.home.attach(&"ann".into(), old, at(0)), Ok(None));
    assert_eq!(lab.home.attach(&"ann".into(), old, at(0)), Ok(None));
    assert_eq!(lab.home.keep_alive("ann", old, at(1)), Ok(TTL));
    assert_eq!(lab.home.attach(&"ann".into(), new, at(1)), Ok(Some(old)));
    assert_eq!(lab.home.keep_alive("ann", old, at(2)), Err(NotKept::NotAttached));
    assert_eq!(lab.home.keep_alive("ann", new, at(2)), Ok(TTL));
}
