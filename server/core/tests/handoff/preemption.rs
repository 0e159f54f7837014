//! Preemption: when a better candidate may request the lock.

use std::time::Duration;

use tenure_core::{AskedMode, Command, Handoff, Outcome};

use super::lab::{Lab, ME, at, by_operator};

#[test]
fn a_better_candidate_that_has_settled_is_handed_the_lock_and_never_takes_it() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.allow_preemption(at(10), at(0));
    lab.acquire("bob", 0, at(1));
    lab.acquire("cid", 5, at(2));
    lab.pass(at(11));
    assert!(lab.asked().is_empty(), "it has not settled yet, and one that is not better never asks");
    lab.pass(at(12));
    assert_eq!(lab.asked(), ["ann"]);
    assert_eq!(lab.holder().0, "ann", "asked, not robbed");
    lab.release(at(13));
    assert_eq!(lab.holder().0, "cid");
}

#[test]
fn only_the_first_in_the_queue_preempts() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.allow_preemption(at(10), at(0));
    let bob = lab.acquire("bob", 3, at(1));
    let cid = lab.acquire("cid", 5, at(5));
    lab.ask(Command::Preempt { claim: bob, home: ME }, at(6));
    assert!(lab.asked().is_empty());
    lab.pass(at(11));
    assert!(lab.asked().is_empty(), "the better one has not settled");
    lab.ask(Command::EndWait { claim: cid, home: ME }, at(12));
    lab.pass(at(12));
    assert_eq!(lab.asked(), ["ann"], "the one that has settled is first now");
}

#[test]
fn a_preemption_that_is_not_confirmed_is_tried_again_after_settling_anew() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.acquire("bob", 1, at(0));
    lab.allow_preemption(at(10), at(0));
    lab.pass(at(10));
    assert_eq!(lab.asked(), ["ann"]);
    lab.pass(at(13));
    assert!(lab.asked().is_empty());
    lab.acquire("cid", 0, at(14));
    lab.pass(at(22));
    assert!(lab.asked().is_empty(), "other things that happen to the lock make it no sooner");
    lab.pass(at(23));
    assert_eq!(lab.asked(), ["ann"]);
}

#[test]
fn a_candidate_whose_caller_is_away_does_not_preempt_before_it_is_back() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.allow_preemption(at(2), at(0));
    let bob = lab.acquire("bob", 1, at(0));
    lab.home.mark_abandoned(bob, at(1));
    lab.pass(at(2));
    assert!(lab.asked().is_empty());
    lab.home.register_caller(bob);
    lab.pass(at(3));
    assert_eq!(lab.asked(), ["ann"]);
}

#[test]
fn who_has_been_granted_the_lock_asks_for_it_no_more() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.acquire("bob", 1, at(0));
    lab.allow_preemption(at(10), at(0));
    lab.release(at(5));
    assert_eq!(lab.holder().0, "bob");
    assert_eq!(lab.home.due(at(100)), []);
}

#[test]
fn a_better_candidate_than_the_one_that_was_named_asks_as_soon_as_it_has_settled() {
    let mut lab = Lab::new();
    lab.acquire("ann", 9, at(0));
    lab.allow_preemption(at(10), at(0));
    lab.acquire("bob", 5, at(1));
    lab.acquire("cid", 0, at(2));
    lab.transfer(Some("cid"), Handoff::ByHolder { session: "ann".into() }, at(3)).expect("possible");
    lab.pass(at(10));
    assert!(lab.asked().is_empty());
    lab.pass(at(11));
    assert_eq!(lab.asked(), ["cid"], "it has settled while it waited for one that was better");
}

#[test]
fn nobody_preempts_who_is_as_good_or_has_a_minimum_or_shares() {
    let holder = |mode, priority, min_hold| {
        let mut lab = Lab::new();
        lab.acquire_as("ann", &["a"], mode, priority, min_hold, at(0));
        lab.allow_preemption(at(10), at(0));
        let bob = lab.acquire("bob", 1, at(0));
        lab.pass(at(10));
        lab.ask(Command::Preempt { claim: bob, home: ME }, at(10));
        lab.asked().len()
    };
    assert_eq!(holder(AskedMode::Exclusive, 0, Duration::ZERO), 1);
    assert_eq!(holder(AskedMode::Exclusive, 1, Duration::ZERO), 0);
    assert_eq!(holder(AskedMode::Exclusive, 0, at(20)), 0);
    assert_eq!(holder(AskedMode::Shared, 0, Duration::ZERO), 0);
}

#[test]
fn who_has_been_asked_to_hand_over_to_somebody_is_not_asked_for_a_better_one() {
    let mut lab = Lab::new();
    lab.acquire("ann", 0, at(0));
    lab.allow_preemption(at(10), at(0));
    let bob = lab.acquire("bob", 0, at(0));
    let asked = lab.transfer(Some("bob"), by_operator(), at(0)).expect("possible");
    let Outcome::Transferring { claim: ann } = asked else { panic!("{asked:?}") };
    let cid = lab.acquire("cid", 5, at(0));
    lab.ask(Command::Preempt { claim: cid, home: ME }, at(1));
    assert_eq!(ann.transfer.as_ref().and_then(|transfer| transfer.to), Some(bob));
    assert_eq!(lab.table.claim(ann.id), Some(&ann));
}
