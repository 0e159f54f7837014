//! Planned handoffs, with time passed in: the holder's drain period, and the next holder.

mod preemption;

use std::time::Duration;

use tenure_core::testing::{self, Build, HOME, IntoNames, Lab, adopt, at, close, configure, move_to, transfer};
use tenure_core::{
    ClaimState, Command, EndReason, Event, Home, LockSettings, Obstacle, Outcome, Preempt, Rejection, Revision,
    ServerId,
};

const OTHER: ServerId = ServerId(2);

/// Acquires the lock "a" in a session that does not expire during a test.
fn acquire(session: &str) -> Command {
    acquire_all(session, "a")
}

fn acquire_all(session: &str, names: impl IntoNames) -> Command {
    testing::acquire(session, names).ttl(at(1_000))
}

/// The session and the token of the first hold.
fn holder(lab: &Lab) -> (&str, Revision) {
    let held = lab.table.claims().find(|claim| matches!(claim.state, ClaimState::Held { .. })).expect("held");
    (&held.spec.session, held.token().expect("held"))
}

/// Has the holder release the lock "a".
fn release(lab: &mut Lab) {
    let (session, token) = holder(lab);
    let release = testing::release(session, "a", token);
    lab.accept(release);
}

/// Lets better candidates preempt the holder of the lock "a" when they have settled, with a drain period of three
/// seconds.
fn allow_preemption(lab: &mut Lab, settling: Duration) {
    lab.accept(configure("a", LockSettings { limit: None, preempt: Some(Preempt { settling, drain: at(3) }) }));
}

/// The sessions that were asked to hand over.
fn asked(lab: &Lab) -> Vec<&str> {
    let pending = lab.table.claims().filter(|claim| claim.transfer.is_some());
    pending.map(|claim| &*claim.spec.session).collect()
}

#[test]
fn transfer_is_confirmed_by_the_release_and_grants_the_lock_to_the_named_waiter_in_one_event() {
    let mut lab = Lab::default();
    let ann = lab.grant(acquire("ann")).id;
    lab.claim(acquire("bob"));
    let cid = lab.claim(acquire("cid")).id;
    let asked = lab.at(1).accept(transfer("a", ann).to("cid"));
    assert!(matches!(asked, Outcome::Transferring { claim } if claim.id == ann));
    assert_eq!(holder(&lab).0, "ann", "it holds on until it confirms");
    let before = holder(&lab).1;
    release(lab.at(2));
    assert_eq!(holder(&lab).0, "cid");
    assert!(holder(&lab).1 > before);
    let last = lab.events.last().expect("an event");
    let Event::ClaimTransferred { from, from_token, claim, .. } = &last.event else { panic!("{last:?}") };
    assert_eq!((*from, *from_token, *claim, last.revision), (ann, before, cid, holder(&lab).1));
    lab.at(100).run_due();
    assert_eq!(holder(&lab).0, "cid", "nothing of the transfer is left");
}

#[test]
fn confirmation_can_be_repeated() {
    let mut lab = Lab::default();
    let ann = lab.grant(acquire("ann")).id;
    lab.claim(acquire("bob"));
    lab.accept(transfer("a", ann));
    release(lab.at(1));
    assert_eq!(lab.accept(testing::release("ann", "a", ann)), Outcome::Done);
    lab.accept(close("ann"));
    assert_eq!(lab.at(2).accept(testing::release("ann", "a", ann)), Outcome::Done);
    assert_eq!(holder(&lab).0, "bob");
}

#[test]
fn transfer_that_is_not_confirmed_in_time_is_cancelled() {
    let mut lab = Lab::default();
    let ann = lab.grant(acquire("ann")).id;
    lab.claim(acquire("bob"));
    lab.at(1).accept(transfer("a", ann));
    lab.at(3).run_due();
    assert_eq!(asked(&lab), ["ann"]);
    lab.at(4).run_due();
    assert!(asked(&lab).is_empty());
    assert_eq!(holder(&lab).0, "ann");
    release(lab.at(5));
    assert_eq!(holder(&lab).0, "bob", "an ordinary release");
    assert!(lab.events.iter().any(|recorded| matches!(
        recorded.event,
        Event::ClaimEnded { token: Some(_), reason: EndReason::Released, .. }
    )));
}

#[test]
fn transfer_to_a_waiter_that_has_left_goes_to_the_first_waiter() {
    let mut lab = Lab::default();
    let ann = lab.grant(acquire("ann")).id;
    lab.claim(acquire("bob"));
    lab.claim(acquire("cid"));
    lab.accept(transfer("a", ann).to("cid"));
    lab.accept(close("cid"));
    release(lab.at(1));
    assert_eq!(holder(&lab).0, "bob");
    assert!(matches!(lab.last(), Event::ClaimTransferred { .. }));
}

#[test]
fn transfer_by_the_holder_is_immediate() {
    let mut lab = Lab::default();
    let ann = lab.grant(acquire("ann")).id;
    lab.claim(acquire("bob"));
    lab.claim(acquire("cid"));
    let done = lab.accept(transfer("a", ann).to("cid").by_holder("ann"));
    assert!(matches!(done, Outcome::Transferred { to, .. } if to.spec.session == "cid"));
    assert_eq!(holder(&lab).0, "cid");
}

#[test]
fn transfer_that_is_impossible_is_rejected_with_the_obstacle() {
    let mut lab = Lab::default();
    let ann = lab.grant(acquire("ann")).id;
    let obstacle = |rejection| match rejection {
        Rejection::TransferImpossible { obstacle, .. } => obstacle,
        other => panic!("{other:?}"),
    };
    assert_eq!(obstacle(lab.reject(transfer("a", ann))), Obstacle::NoWaiter);
    assert_eq!(obstacle(lab.reject(transfer("a", ann).to("zoe"))), Obstacle::NotWaiting("zoe".into()));
    lab.claim(acquire("bob"));
    assert_eq!(obstacle(lab.reject(transfer("a", Revision(1)))), Obstacle::NotHeld);
    let foreign = lab.reject(transfer("a", ann).by_holder("bob"));
    assert!(matches!(foreign, Rejection::NotHolder { .. }), "{foreign:?}");
    lab.accept(transfer("a", ann));
    let repeated = lab.accept(transfer("a", ann));
    assert!(matches!(repeated, Outcome::Transferring { .. }), "{repeated:?}");
    let another = lab.reject(transfer("a", ann).to("bob"));
    assert!(matches!(another, Rejection::TransferPending { .. }), "{another:?}");
    assert_eq!(holder(&lab).0, "ann");
}

#[test]
fn transfer_counts_anew_at_the_server_that_adopts_the_holder() {
    let mut lab = Lab::default();
    let ann = lab.grant(acquire("ann")).id;
    lab.claim(acquire("bob"));
    lab.at(1).accept(transfer("a", ann));
    lab.home = Home::new(OTHER, at(5));
    lab.at(2).accept(adopt(HOME, OTHER));
    lab.at(4).run_due();
    assert_eq!(asked(&lab), ["ann"], "counted anew");
    lab.at(5).run_due();
    assert!(asked(&lab).is_empty());
}

#[test]
fn preemption_and_its_end_stay_due_if_they_could_not_be_written() {
    let mut lab = Lab::default();
    lab.grant(acquire("ann"));
    lab.claim(acquire("bob").priority(1));
    allow_preemption(&mut lab, at(10));
    let asking = lab.home.due(at(10));
    assert!(matches!(&*asking, [Command::Preempt { .. }]));
    lab.home.retry_at(&asking[0], at(11));
    lab.at(11).run_due();
    assert_eq!(asked(&lab), ["ann"]);
    let ending = lab.home.due(at(14));
    assert!(matches!(&*ending, [Command::EndTransfer { .. }]));
    lab.home.retry_at(&ending[0], at(15));
    lab.at(15).run_due();
    assert!(asked(&lab).is_empty());
}

#[test]
fn transfer_is_counted_only_at_the_home_of_its_holder() {
    let mut lab = Lab::default();
    let ann = lab.grant(acquire("ann")).id;
    lab.claim(acquire("bob"));
    lab.home = Home::new(OTHER, at(5));
    lab.at(1).accept(transfer("a", ann));
    assert_eq!(lab.home.next_deadline(), None);
}

#[test]
fn transfer_counts_anew_after_its_holder_has_moved_away_and_back() {
    let mut lab = Lab::default();
    let ann = lab.grant(acquire("ann")).id;
    lab.claim(acquire("bob"));
    lab.at(1).accept(transfer("a", ann));
    lab.at(2).accept(move_to("ann", OTHER));
    lab.at(4).run_due();
    assert_eq!(asked(&lab), ["ann"], "it is for its new home to end it");
    lab.at(5).accept(move_to("ann", HOME));
    lab.at(7).run_due();
    assert_eq!(asked(&lab), ["ann"]);
    lab.at(8).run_due();
    assert!(asked(&lab).is_empty());
}

#[test]
fn transfer_counts_on_after_a_rebuild() {
    let mut lab = Lab::default();
    let ann = lab.grant(acquire("ann")).id;
    lab.claim(acquire("bob"));
    lab.at(1).accept(transfer("a", ann));
    lab.home.rebuild(&lab.table, at(3));
    lab.at(4).run_due();
    assert!(asked(&lab).is_empty());
}

#[test]
fn transfer_that_was_not_observed_has_its_full_drain_period() {
    let mut lab = Lab::default();
    let ann = lab.grant(acquire("ann")).id;
    lab.claim(acquire("bob"));
    let first = lab.at(1).accept(transfer("a", ann));
    let Outcome::Transferring { claim } = first else { panic!("{first:?}") };
    let started = claim.transfer.expect("asked for").started;
    lab.accept_unobserved(Command::EndTransfer { claim: ann, started, home: HOME });
    lab.accept_unobserved(transfer("a", ann));
    lab.home.rebuild(&lab.table, at(3));
    lab.at(4).run_due();
    assert_eq!(asked(&lab), ["ann"], "only the first one would have been over");
    lab.at(6).run_due();
    assert!(asked(&lab).is_empty());
}

#[test]
fn transfer_to_a_waiter_for_further_locks_goes_to_the_first_waiter_if_these_are_held() {
    let mut lab = Lab::default();
    let ann = lab.grant(acquire("ann")).id;
    let bob = lab.claim(acquire_all("bob", ["a", "b"])).id;
    lab.accept(transfer("a", ann).to("bob"));
    let cid = lab.claim(acquire_all("cid", "b").priority(5)).id;
    assert_eq!(lab.table.claim(cid).and_then(|claim| claim.token()), Some(cid), "it is better");
    release(lab.at(1));
    assert_eq!(lab.table.claim(bob).and_then(|claim| claim.token()), None, "what it waits for too is held");
    assert_eq!(holder(&lab).0, "cid");
}

#[test]
fn transfer_is_about_all_locks_that_either_claims() {
    let mut lab = Lab::default();
    let ann = lab.grant(acquire("ann")).id;
    lab.claim(acquire_all("bob", ["a", "b"]));
    lab.accept(transfer("a", ann).by_holder("ann"));
    let last = lab.last();
    assert_eq!(["a", "b", "c"].map(|name| last.is_about(name)), [true, true, false], "{last:?}");
}

#[test]
fn transfer_of_permits_grants_them_to_the_named_waiter() {
    let mut lab = Lab::default();
    let ann = lab.claim(acquire("ann").permits(1, 2)).id;
    lab.claim(acquire("zed").permits(1, 2));
    let bob = lab.claim(acquire("bob").permits(1, 2)).id;
    assert!(lab.table.claim(bob).is_some_and(|claim| claim.token().is_none()));
    lab.accept(transfer("a", ann).to("bob").by_holder("ann"));
    let holders: Vec<String> = lab.table.claims().map(|claim| claim.spec.session.to_string()).collect();
    assert_eq!(holders, ["zed", "bob"]);
}

#[test]
fn end_of_a_hold_records_the_locks_that_are_still_held() {
    let mut lab = Lab::default();
    lab.claim(acquire_all("ann", ["a", "b"]).shared());
    lab.claim(acquire("bob").shared());
    lab.claim(acquire_all("cid", "c"));
    lab.claim(acquire_all("dan", "c").shared());
    for (session, expected) in [("ann", &["a"][..]), ("bob", &[]), ("dan", &[]), ("cid", &[])] {
        let before = lab.events.len();
        lab.at(1).accept(close(session));
        let ended = lab.events[before..].iter().find_map(|recorded| match &recorded.event {
            Event::ClaimEnded { still_held, .. } => Some(still_held.iter().map(|name| &**name).collect::<Vec<_>>()),
            _ => None,
        });
        assert_eq!(ended.as_deref(), Some(expected), "{session}");
    }
}

#[test]
fn configure_evicts_waiters_for_more_permits_than_the_new_limit() {
    let mut lab = Lab::default();
    lab.claim(acquire("ann").permits(3, 3));
    let bob = lab.claim(acquire("bob").permits(3, 3)).id;
    let cid = lab.claim(acquire("cid").permits(2, 3)).id;
    lab.at(1).accept(configure("a", LockSettings { limit: Some(2), preempt: None }));
    assert!(lab.table.claim(bob).is_none());
    assert!(lab.table.claim(cid).is_some());
}
