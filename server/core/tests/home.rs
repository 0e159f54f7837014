//! The home's timers, with time passed in.

mod lab;
mod lingering;
mod owners;
mod pauses;
mod streams;

use std::time::Duration;

use lab::{GRACE, Lab, ME, OTHER, STREAM, TTL, at, opening};
use tenure_core::{Command, EndReason, Outcome, RenewError, StreamId};

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
    assert_eq!(lab.home.renew("ann", at(19)), Err(RenewError::NotHome), "nothing revives it");
}

#[test]
fn a_late_renewal_revives_nothing_even_before_the_end_is_committed() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    assert_eq!(lab.home.renew("ann", at(10)), Err(RenewError::Ended(EndReason::Expired)));
    assert_eq!(lab.home.renew("ann", at(9)), Err(RenewError::Ended(EndReason::Expired)), "whatever came in between");
    assert_eq!(lab.expire(at(10)), ["ann"]);
}

#[test]
fn an_end_that_could_not_be_written_stays_due() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    let due = lab.home.due(at(10));
    assert_eq!(due.len(), 1);
    assert!(lab.home.due(at(11)).is_empty(), "it is under way");
    lab.home.retry_at(&due[0], at(12));
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
fn a_fresh_ttl_for_all_revives_nobody_whose_time_was_up() {
    let mut lab = Lab::new();
    lab.open("s", ME, at(0));
    let due = lab.home.due(at(10));
    assert_eq!(due.len(), 1);
    // The end is being written, which takes so long that the lease expires meanwhile, and is regained.
    lab.home.refresh(at(10));
    assert_eq!(lab.home.renew("s", at(11)), Err(RenewError::Ended(EndReason::Expired)));
    lab.home.retry_at(&due[0], at(12));
    assert_eq!(lab.expire(at(12)), ["s"]);
}

/// In the lost part of the history, the session may have been renewed at another home.
#[test]
fn after_a_loss_every_session_lives_for_a_full_ttl_even_if_its_end_was_under_way() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    lab.open("bob", ME, at(5));
    let under_way = lab.home.due(at(10));
    assert!(matches!(&*under_way, [end] if lab.home.is_still_due(end)));
    lab.lose(at(11));
    assert!(!lab.home.is_still_due(&under_way[0]));
    assert_eq!(lab.home.renew("bob", at(12)), Ok(Duration::from_secs(10)));
    assert_eq!(lab.expire(at(20)), [""; 0]);
    assert_eq!(lab.expire(at(21)), ["ann"]);
    assert_eq!(lab.expire(at(22)), ["bob"]);
}

/// In the lost part of the history, the session may have moved to a server that is cut off and has some of its lease
/// left: until the lease expires, that server accepts the session's renewals.
#[test]
fn after_a_loss_a_session_lives_for_a_full_ttl_after_the_longest_lease_of_a_server() {
    let mut lab = Lab::new();
    for lease in [at(2), at(3), at(1)] {
        lab.home.observe_lease(lease);
    }
    lab.open("kept", ME, at(0));
    lab.open("adopted", OTHER, at(0));
    lab.open_on("streamed", STREAM, at(0));
    lab.lose(at(5));
    lab.home.disconnected(STREAM, at(5));
    lab.open("later", ME, at(5));
    lab.ask(Command::Adopt { dead: OTHER, by: ME }, at(6));
    assert_eq!(lab.home.remaining("kept", at(6)), Some(at(12)));
    assert_eq!(lab.end(at(9)), []);
    assert_eq!(lab.end(at(10)), [("streamed".to_owned(), EndReason::Disconnected)]);
    assert_eq!(lab.expire(at(15)), ["later"], "it is younger than what was lost");
    assert_eq!(lab.expire(at(17)), [""; 0]);
    assert_eq!(lab.expire(at(18)), ["adopted", "kept"]);
}

#[test]
fn the_end_of_a_session_that_has_gone_and_come_back_stands_no_more() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    let under_way = lab.home.due(at(10));
    for home in [OTHER, ME] {
        lab.ask(Command::AttachSession { session: "ann".into(), home, attachment: 0, client: None }, at(11));
        assert!(!lab.home.is_still_due(&under_way[0]));
    }
    assert_eq!(lab.expire(at(20)), [""; 0]);
    assert_eq!(lab.expire(at(21)), ["ann"]);
}

#[test]
fn what_is_given_up_is_kept_if_its_session_has_gone_and_come_back() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    let Outcome::Held { claim, .. } = lab.acquire("ann", Duration::ZERO, at(0)) else { panic!("it is free") };
    lab.home.mark_abandoned(claim.id, at(0));
    let under_way = lab.home.due(at(5));
    assert!(matches!(&*under_way, [Command::Abandon { .. }]));
    assert!(lab.home.is_still_due(&under_way[0]));
    for home in [OTHER, ME] {
        lab.ask(Command::AttachSession { session: "ann".into(), home, attachment: 0, client: None }, at(6));
        assert!(!lab.home.is_still_due(&under_way[0]));
        lab.home.retry_at(&under_way[0], at(7));
        assert!(!lab.home.is_abandoned(claim.id), "its client may know of it");
    }
}

/// The reply to the attachment, if no earlier one, has notified its client of its holds.
#[test]
fn a_hold_that_was_left_is_kept_if_its_session_is_attached_again_where_it_is() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    lab.open("bob", ME, at(0));
    let Outcome::Held { claim: held, .. } = lab.acquire("ann", Duration::ZERO, at(0)) else { panic!("it is free") };
    let Outcome::Waiting { claim: waiting, .. } = lab.acquire("bob", Duration::ZERO, at(0)) else {
        panic!("it is held")
    };
    for (session, claim) in [("ann", &held), ("bob", &waiting)] {
        lab.home.mark_abandoned(claim.id, at(0));
        lab.ask(Command::AttachSession { session: session.into(), home: ME, attachment: 1, client: None }, at(1));
    }
    assert!(!lab.home.is_abandoned(held.id));
    let under_way = lab.home.due(at(5));
    assert!(
        matches!(&*under_way, [Command::Abandon { claim, .. }] if *claim == waiting.id),
        "nobody has asked for the wait"
    );
}

#[test]
fn a_home_knows_whose_it_is_how_many_it_keeps_and_for_how_long_it_keeps_a_wait() {
    let mut lab = Lab::new();
    assert_eq!((lab.home.me(), lab.home.session_count(), lab.home.reattach()), (ME, 0, Duration::from_secs(5)));
    lab.open("ann", ME, at(0));
    lab.open("bob", OTHER, at(0));
    assert_eq!(lab.home.session_count(), 1);
}

#[test]
fn giving_up_a_wait_that_could_not_be_written_stays_due() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    lab.open("bob", ME, at(0));
    lab.acquire("ann", Duration::ZERO, at(0));
    let Outcome::Waiting { claim, .. } = lab.acquire("bob", Duration::ZERO, at(0)) else { panic!("not held by ann?") };
    assert!(!lab.home.is_abandoned(claim.id));
    lab.home.mark_abandoned(claim.id, at(1));
    assert!(lab.home.is_abandoned(claim.id));
    let due = lab.home.due(at(6));
    assert_eq!(due, [Command::Abandon { claim: claim.id, home: ME }]);
    assert!(lab.home.due(at(7)).is_empty(), "it is under way");
    lab.home.retry_at(&due[0], at(8));
    assert_eq!(lab.home.due(at(8)), due);
}

#[test]
fn a_table_that_was_loaded_anew_ends_no_session_early_and_keeps_none_that_is_gone() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    lab.open("bob", ME, at(0));
    lab.open("eve", OTHER, at(0));
    let mut events = Vec::new();
    lab.table.decide(Command::CloseSession { session: "bob".into(), client: None }, &mut events).expect("allowed");
    lab.table.commit();
    lab.home.rebuild(&lab.table, at(4));
    assert_eq!(lab.home.session_count(), 1);
    assert_eq!(lab.home.renew("bob", at(4)), Err(RenewError::NotHome));
    assert_eq!(lab.home.remaining("ann", at(4)), Some(at(6)), "it was kept before");
}

#[test]
fn a_table_that_was_loaded_anew_is_no_renewal_nor_does_it_keep_what_has_gone_or_begun_anew() {
    let mut lab = Lab::new();
    lab.open_with("ann", TTL, Some(GRACE), ME, at(0));
    lab.open("bob", ME, at(0));
    lab.open("eve", ME, at(0));
    lab.open("zoe", OTHER, at(0));
    lab.unseen(Command::AttachSession { session: "bob".into(), home: OTHER, attachment: 0, client: None });
    lab.unseen(Command::CloseSession { session: "eve".into(), client: None });
    lab.unseen(opening("eve", TTL, None, ME));
    lab.unseen(opening("zoe", TTL, None, OTHER));
    lab.home.rebuild(&lab.table, at(4));
    assert_eq!(lab.home.remaining("ann", at(4)), Some(at(6)));
    assert_eq!(lab.home.renew("bob", at(4)), Err(RenewError::NotHome));
    assert_eq!(lab.home.renew("zoe", at(4)), Err(RenewError::NotHome));
    assert_eq!(lab.home.remaining("eve", at(4)), Some(TTL), "another one of the same name");
    assert_eq!(lab.expire(at(10)), ["ann"]);
    assert_eq!(lab.expire(at(14)), ["eve"]);
}

#[test]
fn a_session_that_moves_away_is_no_longer_kept() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    lab.ask(Command::AttachSession { session: "ann".into(), home: OTHER, attachment: 0, client: None }, at(1));
    assert_eq!(lab.home.renew("ann", at(2)), Err(RenewError::NotHome));
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
fn a_wait_that_nobody_attends_to_is_given_up_unless_somebody_comes_back() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    lab.open("bob", ME, at(0));
    lab.acquire("ann", Duration::ZERO, at(0));
    let Outcome::Waiting { claim, .. } = lab.acquire("bob", Duration::ZERO, at(0)) else { panic!("held by ann") };
    lab.home.mark_abandoned(claim.id, at(1));
    lab.home.register_caller(claim.id);
    lab.expire(at(6));
    assert!(lab.table.claim(claim.id).is_some(), "somebody came back");
    lab.home.mark_abandoned(claim.id, at(6));
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
fn waits_that_a_moving_session_brings_along_are_given_up_unless_asked_for() {
    let mut lab = Lab::new();
    lab.open("ann", OTHER, at(0));
    lab.open("bob", OTHER, at(0));
    lab.acquire("ann", Duration::ZERO, at(0));
    let Outcome::Waiting { claim, .. } = lab.acquire("bob", Duration::ZERO, at(0)) else { panic!("held by ann") };
    let attach = Command::AttachSession { session: "bob".into(), home: ME, attachment: 0, client: None };
    lab.ask(attach.clone(), at(1));
    assert!(lab.home.is_abandoned(claim.id));
    lab.home.register_caller(claim.id);
    lab.ask(attach, at(2));
    assert!(!lab.home.is_abandoned(claim.id), "it was here already, and somebody asks for it here");
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
    assert_eq!(lab.home.keep_alive("ann", old, at(2)), Err(RenewError::NotAttached));
    assert_eq!(lab.home.keep_alive("ann", new, at(2)), Ok(TTL));
    assert_eq!((lab.home.stream_of("ann"), lab.home.stream_of("bob")), (Some(new), None));
}

/// The session moved to another server unseen, and returns before the home has ended its claim.
#[test]
fn what_was_to_be_given_up_is_not_when_its_session_has_gone_unseen() {
    for is_due in [false, true] {
        let mut lab = Lab::new();
        lab.open("ann", ME, at(0));
        let Outcome::Held { claim, .. } = lab.acquire("ann", Duration::ZERO, at(0)) else { panic!("it is free") };
        lab.home.mark_abandoned(claim.id, at(1));
        let abandon = if is_due { lab.home.due(at(6)) } else { Vec::new() };
        lab.unseen(Command::AttachSession { session: "ann".into(), home: OTHER, attachment: 0, client: None });
        lab.home.rebuild(&lab.table, at(7));
        assert!(!abandon.iter().any(|command| lab.home.is_still_due(command)));
        lab.ask(Command::AttachSession { session: "ann".into(), home: ME, attachment: 0, client: None }, at(8));
        assert_eq!(lab.home.due(at(9)), Vec::new());
        assert!(!abandon.iter().any(|command| lab.home.is_still_due(command)));
        assert_eq!(abandon.len(), usize::from(is_due));
    }
}

#[test]
fn it_tells_whom_it_keeps_and_when_they_were_renewed() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(1));
    lab.open("bob", OTHER, at(1));
    assert!(lab.home.has_session("ann") && !lab.home.has_session("bob"));
    assert_eq!(lab.home.since_renewed("ann", at(4)), Some(at(3)));
    lab.home.renew("ann", at(5)).expect("open");
    assert_eq!(lab.home.since_renewed("ann", at(7)), Some(at(2)));
    assert_eq!(lab.home.since_renewed("bob", at(7)), None);
}
