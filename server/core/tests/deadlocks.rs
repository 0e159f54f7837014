//! Deadlock detection: cycles of waiting sessions, and chains of waits without a cycle.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::{
    AskedMode, Claim, Command, DeadlockSearch, Opening, Origin, Outcome, Revision, ServerId, Table, Text,
};

#[derive(Default)]
struct Lab(Table);

impl Lab {
    fn acquire(&mut self, session: &str, names: &[&str], mode: AskedMode) -> Claim {
        let opening = Opening {
            ttl: Duration::from_secs(9),
            disconnect_grace: None,
            owner: Text::from(""),
            metadata: Arc::default(),
            identity: None,
        };
        let command = Command::Acquire {
            origin: Origin::default(),
            opened: None,
            session: session.into(),
            opening: Some(opening),
            home: ServerId(1),
            names: names.iter().map(|name| Text::from(*name)).collect(),
            mode,
            queue: true,
            priority: 0,
            metadata: Arc::default(),
            min_hold: Duration::ZERO,
        };
        let outcome = self.0.decide(command, &mut Vec::new());
        self.0.commit();
        match outcome {
            Ok(Outcome::Held { claim, .. } | Outcome::Waiting { claim, .. }) => claim,
            other => panic!("{other:?}"),
        }
    }

    fn exclusive(&mut self, session: &str, name: &str) -> Revision {
        self.acquire(session, &[name], AskedMode::Exclusive).id
    }

    fn deadlock(&self, claim: Revision) -> Option<Vec<Revision>> {
        self.0.deadlock(claim, &mut DeadlockSearch::default())
    }
}

#[test]
fn two_sessions_that_wait_for_each_other_are_found() {
    let mut lab = Lab::default();
    let held = lab.exclusive("ann", "a");
    lab.exclusive("bob", "b");
    let ann = lab.exclusive("ann", "b");
    assert_eq!(lab.deadlock(ann), None, "one that waits is no circle");
    let bob = lab.exclusive("bob", "a");
    assert_eq!(lab.deadlock(ann), Some(vec![ann, bob]));
    assert_eq!(lab.deadlock(bob), Some(vec![bob, ann]));
    let bob = lab.0.claim(bob).expect("waits");
    assert_eq!(lab.0.waits_for(bob).into_iter().collect::<Vec<_>>(), [held]);
}

#[test]
fn a_circle_through_a_queue_is_found_and_one_who_waits_behind_it_is_not_in_it() {
    let mut lab = Lab::default();
    lab.exclusive("ann", "a");
    lab.exclusive("bob", "b");
    let cid = lab.exclusive("cid", "b");
    lab.exclusive("cid", "c");
    let ann = lab.exclusive("ann", "b");
    lab.exclusive("dot", "d");
    let dot = lab.exclusive("dot", "c");
    let bob = lab.exclusive("bob", "a");
    assert_eq!(lab.deadlock(ann), Some(vec![ann, bob]), "cid is not needed for it");
    assert_eq!(lab.deadlock(cid), Some(vec![cid, bob, ann]), "ann waits behind cid");
    assert_eq!(lab.deadlock(dot), None, "dot waits for cid, but nobody waits for what dot holds");
}

#[test]
fn one_who_only_stands_between_is_left_out() {
    let mut lab = Lab::default();
    lab.exclusive("ann", "a");
    lab.exclusive("bob", "b");
    lab.exclusive("cid", "b");
    let ann = lab.exclusive("ann", "b");
    let bob = lab.exclusive("bob", "a");
    assert_eq!(lab.deadlock(ann), Some(vec![ann, bob]), "if cid went, they would still wait for each other");
}

#[test]
fn a_reader_behind_a_writer_waits_for_the_writer() {
    let mut lab = Lab::default();
    lab.acquire("ann", &["a"], AskedMode::Shared);
    lab.exclusive("bob", "b");
    let bob = lab.exclusive("bob", "a");
    lab.exclusive("cid", "c");
    let cid = lab.acquire("cid", &["a"], AskedMode::Shared).id;
    let ann = lab.exclusive("ann", "c");
    assert_eq!(lab.deadlock(cid), Some(vec![cid, bob, ann]), "cid could read beside ann, but not before bob");
}

#[test]
fn shared_holds_and_sets_are_followed_as_well() {
    let mut lab = Lab::default();
    lab.acquire("ann", &["a"], AskedMode::Shared);
    lab.acquire("bob", &["a"], AskedMode::Shared);
    lab.exclusive("cid", "b");
    let cid = lab.acquire("cid", &["a", "c"], AskedMode::Exclusive).id;
    let bob = lab.exclusive("bob", "b");
    assert_eq!(lab.deadlock(cid), Some(vec![cid, bob]), "not through ann, who waits for nothing");
}

#[test]
fn acquires_of_several_names_at_once_never_deadlock() {
    let mut lab = Lab::default();
    lab.acquire("ann", &["a", "b"], AskedMode::Exclusive);
    let bob = lab.acquire("bob", &["b", "c"], AskedMode::Exclusive).id;
    let cid = lab.acquire("cid", &["a", "c"], AskedMode::Exclusive).id;
    assert_eq!((lab.deadlock(bob), lab.deadlock(cid)), (None, None));
}

#[test]
fn who_waits_for_several_waits_for_those_in_its_way_only() {
    let mut lab = Lab::default();
    lab.acquire("ann", &["a"], AskedMode::Shared);
    let bob = lab.exclusive("bob", "b");
    let cid = lab.acquire("cid", &["a", "b"], AskedMode::Shared);
    assert_eq!(lab.0.waits_for(&cid).into_iter().collect::<Vec<_>>(), [bob], "it can read beside ann");
}

#[test]
fn of_a_circle_through_a_queue_only_who_holds_something_is_told() {
    let mut lab = Lab::default();
    lab.exclusive("ann", "a");
    lab.exclusive("bob", "b");
    let cid = lab.acquire("cid", &["a", "b"], AskedMode::Exclusive).id;
    let ann = lab.exclusive("ann", "b");
    assert_eq!(lab.deadlock(ann), Some(vec![ann, cid]), "ann waits behind cid, and cid for what ann holds");
    assert_eq!(lab.deadlock(cid), None, "cid holds nothing");
}

/// Hundreds of sessions hold a lock and wait in one queue: for each, the search visits the whole queue before it, and
/// there is no cycle.
#[test]
fn the_search_for_many_has_an_end() {
    let mut lab = Lab::default();
    lab.exclusive("first", "wanted");
    let waiting: Vec<Revision> = (0..600)
        .map(|number| {
            let session = format!("s{number}");
            lab.exclusive(&session, &format!("own{number}"));
            lab.exclusive(&session, "wanted")
        })
        .collect();
    let mut search = DeadlockSearch::default();
    let searched =
        waiting.iter().take_while(|claim| lab.0.deadlock(**claim, &mut search).is_none() && !search.is_over());
    assert!((100..500).contains(&searched.count()));
    let (ann, bob) = (lab.exclusive("ann", "a"), lab.exclusive("bob", "b"));
    assert!(ann < bob);
    let ann = lab.exclusive("ann", "b");
    lab.exclusive("bob", "a");
    assert!(lab.deadlock(ann).is_some());
    assert_eq!(lab.0.deadlock(ann, &mut search), None, "it is over");
}
