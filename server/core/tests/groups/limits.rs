//! How large groups may get, and how many there may be.

use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_core::{ATTACHED_BYTES, MEMBERS, MEMBERSHIPS, Metadata, Rejection};

use super::lab::{Lab, join, no_labels, opening};

#[test]
fn what_is_too_much_is_refused_with_the_limit() {
    let mut lab = Lab::default();
    for number in 0..MEMBERS {
        lab.join("g", &format!("s{number}"));
    }
    let mut refused = |group: &str, session: &str, metadata: Metadata| {
        let count = lab.events.len();
        let refused = lab.ask(join(group, session, Some(opening()), metadata)).expect_err("too much");
        assert_eq!(lab.events.len(), count, "not even a session was opened");
        refused
    };
    let reached = |limit, bound| Rejection::LimitReached { limit, bound };
    assert_eq!(refused("g", "one more", no_labels()), reached("members of one group", MEMBERS));
    assert_eq!(lab.join("g", "s0"), lab.group().lead.expect("members").member, "who is there may ask again");

    for number in 1..MEMBERSHIPS {
        lab.join(&format!("h{number}"), "s0");
    }
    let refusal = lab.ask(join("h", "s0", None, no_labels()));
    assert_eq!(refusal, Err(reached("groups of one session", MEMBERSHIPS)));

    let half: Metadata = Arc::new(BTreeMap::from([("k".to_owned(), "x".repeat(ATTACHED_BYTES / 2))]));
    lab.ask(join("big", "ann", Some(opening()), half.clone())).expect("half");
    let refusal = lab.ask(join("big", "bob", Some(opening()), half));
    assert_eq!(refusal, Err(reached("bytes of metadata in one group", ATTACHED_BYTES)));
}
