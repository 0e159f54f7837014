//! Deadlock detection: cycles of waiting sessions, and chains of waits without a cycle.

use tenure_core::testing::{Build, Lab, acquire};
use tenure_core::{DeadlockSearch, Revision};

/// Claims a lock, and returns the claim.
fn exclusive(lab: &mut Lab, session: &str, name: &str) -> Revision {
    lab.claim(acquire(session, name)).id
}

fn shared(lab: &mut Lab, session: &str, name: &str) -> Revision {
    lab.claim(acquire(session, name).shared()).id
}

fn deadlock(lab: &Lab, claim: Revision) -> Option<Vec<Revision>> {
    lab.table.deadlock(claim, &mut DeadlockSearch::default())
}

fn waits_for(lab: &Lab, claim: Revision) -> Vec<Revision> {
    lab.table.waits_for(lab.table.claim(claim).expect("waits")).into_iter().collect()
}

#[test]
fn deadlock_of_two_sessions_is_found() {
    let mut lab = Lab::default();
    let held = exclusive(&mut lab, "ann", "a");
    exclusive(&mut lab, "bob", "b");
    let ann = exclusive(&mut lab, "ann", "b");
    assert_eq!(deadlock(&lab, ann), None, "a single wait is no cycle");
    let bob = exclusive(&mut lab, "bob", "a");
    assert_eq!(deadlock(&lab, ann), Some(vec![ann, bob]));
    assert_eq!(deadlock(&lab, bob), Some(vec![bob, ann]));
    assert_eq!(waits_for(&lab, bob), [held]);
}

#[test]
fn deadlock_through_a_queue_is_found_without_sessions_that_only_wait_behind_it() {
    let mut lab = Lab::default();
    exclusive(&mut lab, "ann", "a");
    exclusive(&mut lab, "bob", "b");
    let cid = exclusive(&mut lab, "cid", "b");
    exclusive(&mut lab, "cid", "c");
    let ann = exclusive(&mut lab, "ann", "b");
    exclusive(&mut lab, "dot", "d");
    let dot = exclusive(&mut lab, "dot", "c");
    let bob = exclusive(&mut lab, "bob", "a");
    assert_eq!(deadlock(&lab, ann), Some(vec![ann, bob]), "cid is not part of the cycle");
    assert_eq!(deadlock(&lab, cid), Some(vec![cid, bob, ann]), "ann waits behind cid");
    assert_eq!(deadlock(&lab, dot), None, "dot waits for cid, but no claim waits for what dot holds");
}

#[test]
fn deadlock_leaves_out_sessions_that_it_does_not_need() {
    let mut lab = Lab::default();
    exclusive(&mut lab, "ann", "a");
    exclusive(&mut lab, "bob", "b");
    exclusive(&mut lab, "cid", "b");
    let ann = exclusive(&mut lab, "ann", "b");
    let bob = exclusive(&mut lab, "bob", "a");
    assert_eq!(deadlock(&lab, ann), Some(vec![ann, bob]), "without cid, they would still wait for each other");
}

#[test]
fn deadlock_through_a_shared_claim_behind_an_exclusive_one_is_found() {
    let mut lab = Lab::default();
    shared(&mut lab, "ann", "a");
    exclusive(&mut lab, "bob", "b");
    let bob = exclusive(&mut lab, "bob", "a");
    exclusive(&mut lab, "cid", "c");
    let cid = shared(&mut lab, "cid", "a");
    let ann = exclusive(&mut lab, "ann", "c");
    assert_eq!(deadlock(&lab, cid), Some(vec![cid, bob, ann]), "cid could read beside ann, but not before bob");
}

#[test]
fn deadlock_through_shared_holds_and_several_names_is_found() {
    let mut lab = Lab::default();
    shared(&mut lab, "ann", "a");
    shared(&mut lab, "bob", "a");
    exclusive(&mut lab, "cid", "b");
    let cid = lab.claim(acquire("cid", ["a", "c"])).id;
    let bob = exclusive(&mut lab, "bob", "b");
    assert_eq!(deadlock(&lab, cid), Some(vec![cid, bob]), "not through ann, who waits for nothing");
}

#[test]
fn acquires_of_several_names_at_once_never_deadlock() {
    let mut lab = Lab::default();
    lab.claim(acquire("ann", ["a", "b"]));
    let bob = lab.claim(acquire("bob", ["b", "c"])).id;
    let cid = lab.claim(acquire("cid", ["a", "c"])).id;
    assert_eq!((deadlock(&lab, bob), deadlock(&lab, cid)), (None, None));
}

#[test]
fn wait_for_several_names_is_only_for_their_incompatible_holders() {
    let mut lab = Lab::default();
    shared(&mut lab, "ann", "a");
    let bob = exclusive(&mut lab, "bob", "b");
    let cid = lab.queue(acquire("cid", ["a", "b"]).shared()).id;
    assert_eq!(waits_for(&lab, cid), [bob], "it can read beside ann");
}

#[test]
fn deadlock_through_a_queue_is_reported_only_to_holders() {
    let mut lab = Lab::default();
    exclusive(&mut lab, "ann", "a");
    exclusive(&mut lab, "bob", "b");
    let cid = lab.claim(acquire("cid", ["a", "b"])).id;
    let ann = exclusive(&mut lab, "ann", "b");
    assert_eq!(deadlock(&lab, ann), Some(vec![ann, cid]), "ann waits behind cid, and cid for what ann holds");
    assert_eq!(deadlock(&lab, cid), None, "cid holds nothing");
}

/// Hundreds of sessions hold a lock and wait in one queue: for each, the search visits the whole queue before it, and
/// there is no cycle.
#[test]
fn deadlock_search_for_many_claims_is_bounded() {
    let mut lab = Lab::default();
    exclusive(&mut lab, "first", "wanted");
    let waiting: Vec<Revision> = (0..600)
        .map(|number| {
            let session = format!("s{number}");
            exclusive(&mut lab, &session, &format!("own{number}"));
            exclusive(&mut lab, &session, "wanted")
        })
        .collect();
    let mut search = DeadlockSearch::default();
    let searched =
        waiting.iter().take_while(|claim| lab.table.deadlock(**claim, &mut search).is_none() && !search.is_over());
    assert!((100..500).contains(&searched.count()));
    let (ann, bob) = (exclusive(&mut lab, "ann", "a"), exclusive(&mut lab, "bob", "b"));
    assert!(ann < bob);
    let ann = exclusive(&mut lab, "ann", "b");
    exclusive(&mut lab, "bob", "a");
    assert!(deadlock(&lab, ann).is_some());
    assert_eq!(lab.table.deadlock(ann, &mut search), None, "it is over");
}
