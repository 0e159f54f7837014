//! Preemption: when a better candidate may request the lock.

use std::time::Duration;

use tenure_core::testing::{Build, HOME, Lab, at, transfer};
use tenure_core::{AskedMode, Command, Outcome};

use super::{acquire, allow_preemption, asked, holder, release};

#[test]
fn preemption_asks_the_holder_once_a_better_candidate_has_settled() {
    let mut lab = Lab::default();
    lab.grant(acquire("ann"));
    allow_preemption(&mut lab, at(10));
    lab.at(1).claim(acquire("bob"));
    lab.at(2).claim(acquire("cid").priority(5));
    lab.at(11).run_due();
    assert!(asked(&lab).is_empty(), "it has not settled yet, and one that is not better never asks");
    lab.at(12).run_due();
    assert_eq!(asked(&lab), ["ann"]);
    assert_eq!(holder(&lab).0, "ann", "it is asked, and holds on");
    release(lab.at(13));
    assert_eq!(holder(&lab).0, "cid");
}

#[test]
fn preemption_is_only_for_the_first_waiter() {
    let mut lab = Lab::default();
    lab.grant(acquire("ann"));
    allow_preemption(&mut lab, at(10));
    let bob = lab.at(1).claim(acquire("bob").priority(3)).id;
    let cid = lab.at(5).claim(acquire("cid").priority(5)).id;
    lab.at(6).accept(Command::Preempt { claim: bob, home: HOME });
    assert!(asked(&lab).is_empty());
    lab.at(11).run_due();
    assert!(asked(&lab).is_empty(), "the better one has not settled");
    lab.at(12).accept(Command::EndWait { claim: cid, home: HOME });
    lab.run_due();
    assert_eq!(asked(&lab), ["ann"], "the one that has settled is first now");
}

#[test]
fn preemption_that_is_not_confirmed_is_repeated_after_settling_anew() {
    let mut lab = Lab::default();
    lab.grant(acquire("ann"));
    lab.claim(acquire("bob").priority(1));
    allow_preemption(&mut lab, at(10));
    lab.at(10).run_due();
    assert_eq!(asked(&lab), ["ann"]);
    lab.at(13).run_due();
    assert!(asked(&lab).is_empty());
    lab.at(14).claim(acquire("cid"));
    lab.at(22).run_due();
    assert!(asked(&lab).is_empty(), "other things that happen to the lock make it no sooner");
    lab.at(23).run_due();
    assert_eq!(asked(&lab), ["ann"]);
}

#[test]
fn preemption_waits_until_the_caller_of_the_candidate_reconnects() {
    let mut lab = Lab::default();
    lab.grant(acquire("ann"));
    allow_preemption(&mut lab, at(2));
    let bob = lab.claim(acquire("bob").priority(1)).id;
    lab.home.mark_abandoned(bob, at(1));
    lab.at(2).run_due();
    assert!(asked(&lab).is_empty());
    lab.home.register_caller(bob);
    lab.at(3).run_due();
    assert_eq!(asked(&lab), ["ann"]);
}

#[test]
fn preemption_is_not_due_after_the_candidate_was_granted_the_lock() {
    let mut lab = Lab::default();
    lab.grant(acquire("ann"));
    lab.claim(acquire("bob").priority(1));
    allow_preemption(&mut lab, at(10));
    release(lab.at(5));
    assert_eq!(holder(&lab).0, "bob");
    assert_eq!(lab.home.due(at(100)), []);
}

#[test]
fn preemption_of_a_named_successor_is_due_once_a_better_candidate_has_settled() {
    let mut lab = Lab::default();
    let ann = lab.grant(acquire("ann").priority(9)).id;
    allow_preemption(&mut lab, at(10));
    lab.at(1).claim(acquire("bob").priority(5));
    lab.at(2).claim(acquire("cid"));
    lab.at(3).accept(transfer("a", ann).to("cid").by_holder("ann"));
    lab.at(10).run_due();
    assert!(asked(&lab).is_empty());
    lab.at(11).run_due();
    assert_eq!(asked(&lab), ["cid"], "the candidate settled while it waited behind a better one");
}

#[test]
fn preemption_spares_holders_of_the_same_priority_with_a_minimum_or_shared() {
    let asked_beside = |mode, priority, min_hold| {
        let mut lab = Lab::default();
        lab.claim(acquire("ann").mode(mode).priority(priority).min_hold(min_hold));
        allow_preemption(&mut lab, at(10));
        let bob = lab.claim(acquire("bob").priority(1)).id;
        lab.at(10).run_due();
        lab.accept(Command::Preempt { claim: bob, home: HOME });
        asked(&lab).len()
    };
    assert_eq!(asked_beside(AskedMode::Exclusive, 0, Duration::ZERO), 1);
    assert_eq!(asked_beside(AskedMode::Exclusive, 1, Duration::ZERO), 0);
    assert_eq!(asked_beside(AskedMode::Exclusive, 0, at(20)), 0);
    assert_eq!(asked_beside(AskedMode::Shared, 0, Duration::ZERO), 0);
}

#[test]
fn preemption_does_not_replace_a_pending_transfer() {
    let mut lab = Lab::default();
    let ann = lab.grant(acquire("ann")).id;
    allow_preemption(&mut lab, at(10));
    let bob = lab.claim(acquire("bob")).id;
    let asked = lab.accept(transfer("a", ann).to("bob"));
    let Outcome::Transferring { claim: ann } = asked else { panic!("{asked:?}") };
    let cid = lab.claim(acquire("cid").priority(5)).id;
    lab.at(1).accept(Command::Preempt { claim: cid, home: HOME });
    assert_eq!(ann.transfer.as_ref().and_then(|transfer| transfer.to), Some(bob));
    assert_eq!(lab.table.claim(ann.id), Some(&ann));
}
