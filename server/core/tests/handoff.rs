//! Planned handoffs, with time passed in: the holder's drain period, and the next holder.

mod lab;
mod preemption;

use std::time::Duration;

use lab::{Lab, ME, at, by_operator, operator};
use tenure_core::{
    AskedMode, Command, EndReason, Event, Handoff, Home, LockSettings, Obstacle, Outcome, Rejection, Revision, ServerId,
};

#[test]
fn the_holder_confirms_by_releasing_and_the_named_waiter_holds_next_in_one_event() {
    let mut lab = Lab::new();
    let ann = lab.acquire("ann", 0, at(0));
    lab.acquire("bob", 0, at(0));
    let cid = lab.acquire("cid", 0, at(0));
    let asked = lab.transfer(Some("cid"), by_operator(), at(1)).expect("possible");
    assert!(matches!(asked, Outcome::Transferring { claim } if claim.id == ann));
    assert_eq!(lab.holder().0, "ann", "it holds on until it confirms");
    let before = lab.holder().1;
    lab.release(at(2));
    assert_eq!(lab.holder().0, "cid");
    assert!(lab.holder().1 > before);
    let last = lab.events.last().expect("an event");
    let Event::ClaimTransferred { from, from_token, claim, .. } = &last.event else { panic!("{last:?}") };
    assert_eq!((*from, *from_token, *claim, last.revision), (ann, before, cid, lab.holder().1));
    lab.pass(at(100));
    assert_eq!(lab.holder().0, "cid", "nothing of the transfer is left");
}

#[test]
fn a_confirmation_can_be_repeated() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.acquire("bob", 0, at(0));
    lab.transfer(None, by_operator(), at(0)).expect("possible");
    let (_, token) = lab.holder();
    lab.release(at(1));
    let again = Command::Release { session: "ann".into(), name: "a".into(), token };
    assert_eq!(lab.try_ask(again.clone(), at(1)), Ok(Outcome::Done));
    lab.ask(Command::CloseSession { session: "ann".into(), client: None }, at(1));
    assert_eq!(lab.try_ask(again, at(2)), Ok(Outcome::Done));
    assert_eq!(lab.holder().0, "bob");
}

#[test]
fn a_holder_that_does_not_confirm_holds_on() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.acquire("bob", 0, at(0));
    lab.transfer(None, by_operator(), at(1)).expect("possible");
    lab.pass(at(3));
    assert_eq!(lab.asked(), ["ann"]);
    lab.pass(at(4));
    assert!(lab.asked().is_empty());
    assert_eq!(lab.holder().0, "ann");
    lab.release(at(5));
    assert_eq!(lab.holder().0, "bob", "an ordinary release");
    assert!(lab.events.iter().any(|recorded| matches!(
        recorded.event,
        Event::ClaimEnded { token: Some(_), reason: EndReason::Released, .. }
    )));
}

#[test]
fn a_named_waiter_that_left_is_replaced_by_the_best() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.acquire("bob", 0, at(0));
    lab.acquire("cid", 0, at(0));
    lab.transfer(Some("cid"), by_operator(), at(0)).expect("possible");
    lab.ask(Command::CloseSession { session: "cid".into(), client: None }, at(0));
    lab.release(at(1));
    assert_eq!(lab.holder().0, "bob");
    assert!(matches!(lab.events.last().expect("an event").event, Event::ClaimTransferred { .. }));
}

#[test]
fn a_holder_that_has_stopped_hands_over_at_once() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.acquire("bob", 0, at(0));
    lab.acquire("cid", 0, at(0));
    let done = lab.transfer(Some("cid"), Handoff::ByHolder { session: "ann".into() }, at(0)).expect("possible");
    assert!(matches!(done, Outcome::Transferred { to, .. } if to.spec.session == "cid".into()));
    assert_eq!(lab.holder().0, "cid");
}

#[test]
fn what_cannot_be_handed_over_is_refused_and_changes_nothing() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    let obstacle = |refused: Result<Outcome, Rejection>| match refused {
        Err(Rejection::TransferImpossible { obstacle, .. }) => obstacle,
        other => panic!("{other:?}"),
    };
    assert_eq!(obstacle(lab.transfer(None, by_operator(), at(0))), Obstacle::NoWaiter);
    assert_eq!(obstacle(lab.transfer(Some("zoe"), by_operator(), at(0))), Obstacle::NotWaiting("zoe".into()));
    lab.acquire("bob", 0, at(0));
    let stale = Command::Transfer { name: "a".into(), token: Some(Revision(1)), to: None, by: by_operator() };
    assert_eq!(obstacle(lab.try_ask(stale, at(0))), Obstacle::NotHeld);
    let foreign = lab.transfer(None, Handoff::ByHolder { session: "bob".into() }, at(0));
    assert!(matches!(foreign, Err(Rejection::NotHolder { .. })), "{foreign:?}");
    lab.transfer(None, by_operator(), at(0)).expect("possible");
    let repeated = lab.transfer(None, by_operator(), at(0));
    assert!(matches!(repeated, Ok(Outcome::Transferring { .. })), "{repeated:?}");
    let another = lab.transfer(Some("bob"), by_operator(), at(0));
    assert!(matches!(another, Err(Rejection::TransferPending { .. })), "{another:?}");
    assert_eq!(lab.holder().0, "ann");
}

#[test]
fn a_handoff_goes_on_at_the_server_that_adopts_the_holder() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.acquire("bob", 0, at(0));
    lab.transfer(None, by_operator(), at(1)).expect("possible");
    lab.home = Home::new(ServerId(2), at(5));
    lab.ask(Command::Adopt { dead: ME, by: ServerId(2) }, at(2));
    lab.pass(at(4));
    assert_eq!(lab.asked(), ["ann"], "counted anew");
    lab.pass(at(5));
    assert!(lab.asked().is_empty());
}

#[test]
fn what_of_a_handoff_could_not_be_written_stays_due() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.acquire("bob", 1, at(0));
    lab.allow_preemption(at(10), at(0));
    let asking = lab.home.due(at(10));
    assert!(matches!(&*asking, [Command::Preempt { .. }]));
    lab.home.retry_at(&asking[0], at(11));
    lab.pass(at(11));
    assert_eq!(lab.asked(), ["ann"]);
    let ending = lab.home.due(at(14));
    assert!(matches!(&*ending, [Command::EndTransfer { .. }]));
    lab.home.retry_at(&ending[0], at(15));
    lab.pass(at(15));
    assert!(lab.asked().is_empty());
}

#[test]
fn a_handoff_is_counted_at_the_home_of_its_holder_only() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.acquire("bob", 0, at(0));
    lab.home = Home::new(ServerId(2), at(5));
    lab.transfer(None, by_operator(), at(1)).expect("possible");
    assert_eq!(lab.home.next_deadline(), None);
}

#[test]
fn a_handoff_whose_holder_moves_away_and_back_is_counted_anew() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.acquire("bob", 0, at(0));
    lab.transfer(None, by_operator(), at(1)).expect("possible");
    let attach = |home| Command::AttachSession { session: "ann".into(), home, attachment: 0, client: None };
    lab.ask(attach(ServerId(2)), at(2));
    lab.pass(at(4));
    assert_eq!(lab.asked(), ["ann"], "it is for its new home to end it");
    lab.ask(attach(ME), at(5));
    lab.pass(at(7));
    assert_eq!(lab.asked(), ["ann"]);
    lab.pass(at(8));
    assert!(lab.asked().is_empty());
}

#[test]
fn a_table_that_was_loaded_anew_does_not_prolong_a_handoff() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.acquire("bob", 0, at(0));
    lab.transfer(None, by_operator(), at(1)).expect("possible");
    lab.home.rebuild(&lab.table, at(3));
    lab.pass(at(4));
    assert!(lab.asked().is_empty());
}

#[test]
fn a_handoff_that_was_learnt_of_from_the_table_alone_has_its_full_time() {
    let mut lab = Lab::new();
    let ann = lab.acquire("ann", 0, at(0));
    lab.acquire("bob", 0, at(0));
    let first = lab.ask(lab.wish(), at(1));
    let Outcome::Transferring { claim } = first else { panic!("{first:?}") };
    let started = claim.transfer.expect("asked for").started;
    lab.unseen(Command::EndTransfer { claim: ann, started, home: ME });
    lab.unseen(lab.wish());
    lab.home.rebuild(&lab.table, at(3));
    lab.pass(at(4));
    assert_eq!(lab.asked(), ["ann"], "only the first one would have been over");
    lab.pass(at(6));
    assert!(lab.asked().is_empty());
}

#[test]
fn a_named_waiter_that_needs_more_than_is_handed_over_waits_on() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    let bob = lab.acquire_as("bob", &["a", "b"], AskedMode::Exclusive, 0, Duration::ZERO, at(0));
    lab.transfer(Some("bob"), by_operator(), at(0)).expect("possible");
    let cid = lab.acquire_as("cid", &["b"], AskedMode::Exclusive, 5, Duration::ZERO, at(0));
    assert_eq!(lab.table.claim(cid).and_then(|claim| claim.token()), Some(cid), "it is better");
    lab.release(at(1));
    assert_eq!(lab.table.claim(bob).and_then(|claim| claim.token()), None, "what it waits for too is held");
    assert_eq!(lab.holder().0, "cid");
}

#[test]
fn a_handoff_is_in_the_history_of_all_locks_that_either_claims() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.acquire_as("bob", &["a", "b"], AskedMode::Exclusive, 0, Duration::ZERO, at(0));
    lab.transfer(None, Handoff::ByHolder { session: "ann".into() }, at(0)).expect("possible");
    let last = &lab.events.last().expect("an event").event;
    assert_eq!(["a", "b", "c"].map(|name| last.is_about(name)), [true, true, false], "{last:?}");
}

#[test]
fn permits_that_are_handed_over_are_free_for_who_follows() {
    let mut lab = Lab::new();
    let permit = AskedMode::Permits { permits: 1, limit: Some(2) };
    lab.acquire_as("ann", &["a"], permit, 0, Duration::ZERO, at(0));
    lab.acquire_as("zed", &["a"], permit, 0, Duration::ZERO, at(0));
    let bob = lab.acquire_as("bob", &["a"], permit, 0, Duration::ZERO, at(0));
    assert!(lab.table.claim(bob).is_some_and(|claim| claim.token().is_none()));
    lab.transfer(Some("bob"), Handoff::ByHolder { session: "ann".into() }, at(0)).expect("possible");
    let holders: Vec<String> = lab.table.claims().map(|claim| claim.spec.session.to_string()).collect();
    assert_eq!(holders, ["zed", "bob"]);
}

#[test]
fn the_end_of_a_hold_tells_what_others_go_on_holding() {
    let mut lab = Lab::new();
    lab.acquire_as("ann", &["a", "b"], AskedMode::Shared, 0, Duration::ZERO, at(0));
    lab.acquire_as("bob", &["a"], AskedMode::Shared, 0, Duration::ZERO, at(0));
    lab.acquire_as("cid", &["c"], AskedMode::Exclusive, 0, Duration::ZERO, at(0));
    lab.acquire_as("dan", &["c"], AskedMode::Shared, 0, Duration::ZERO, at(0));
    for (session, expected) in [("ann", &["a"][..]), ("bob", &[]), ("dan", &[]), ("cid", &[])] {
        let before = lab.events.len();
        lab.ask(Command::CloseSession { session: session.into(), client: None }, at(1));
        let ended = lab.events[before..].iter().find_map(|recorded| match &recorded.event {
            Event::ClaimEnded { still_held, .. } => Some(still_held.iter().map(|name| &**name).collect::<Vec<_>>()),
            _ => None,
        });
        assert_eq!(ended.as_deref(), Some(expected), "{session}");
    }
}

#[test]
fn who_waits_for_more_permits_than_there_will_be_is_evicted() {
    let mut lab = Lab::new();
    let permits = |permits| AskedMode::Permits { permits, limit: Some(3) };
    lab.acquire_as("ann", &["a"], permits(3), 0, Duration::ZERO, at(0));
    let bob = lab.acquire_as("bob", &["a"], permits(3), 0, Duration::ZERO, at(0));
    let cid = lab.acquire_as("cid", &["a"], permits(2), 0, Duration::ZERO, at(0));
    let settings = LockSettings { limit: Some(2), preempt: None };
    lab.ask(Command::ConfigureLock { name: "a".into(), settings, by: operator() }, at(1));
    assert!(lab.table.claim(bob).is_none());
    assert!(lab.table.claim(cid).is_some());
}
