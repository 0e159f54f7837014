//! Limits on the size and the number of groups.

use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_core::{
    ATTACHED_BYTES, Basis, GROUPS, GroupCommand, GroupOutcome, MEMBERS, MEMBERSHIPS, Metadata, Opening, Rejection,
    Revision, Text,
};

use super::lab::{Lab, join, no_labels, opening};

fn reached<T>(limit: &'static str, bound: usize) -> Result<T, Rejection> {
    Err(Rejection::LimitReached { limit, bound })
}

/// Labels of this size, key and value together.
fn labels(bytes: usize) -> Metadata {
    Arc::new(BTreeMap::from([("key".to_owned(), "x".repeat(bytes - 3))]))
}

fn configure(group: &str, config: Option<&str>) -> GroupCommand {
    GroupCommand::Configure { group: group.into(), config: config.map(Text::from), expected: None }
}

#[test]
fn what_is_too_much_is_refused_with_the_limit() {
    let mut lab = Lab::default();
    for number in 0..MEMBERS {
        lab.join("g", &format!("s{number}"));
    }
    let mut refused = |group: &str, session: &str, metadata: Metadata| {
        let count = lab.events.len();
        let refused = lab.ask(join(group, session, Some(opening()), metadata));
        assert_eq!(lab.events.len(), count, "not even a session was opened");
        refused
    };
    assert_eq!(refused("g", "one more", no_labels()), reached("members of one group", MEMBERS));
    assert_eq!(lab.join("g", "s0"), lab.group().lead.expect("members").member, "who is there may ask again");

    for number in 1..MEMBERSHIPS {
        lab.join(&format!("h{number}"), "s0");
    }
    let refusal = lab.ask(join("h", "s0", None, no_labels()));
    assert_eq!(refusal, reached("groups of one session", MEMBERSHIPS));
}

#[test]
fn what_the_members_of_a_group_attach_is_limited_together() {
    let mut lab = Lab::default();
    let mut attach = |session: &str, bytes| lab.ask(join("g", session, Some(opening()), labels(bytes))).map(drop);
    let too_much = reached("bytes of metadata in one group", ATTACHED_BYTES);
    assert_eq!(attach("ann", ATTACHED_BYTES - 10), Ok(()));
    assert_eq!(attach("bob", 11), too_much);
    assert_eq!(attach("bob", 10), Ok(()), "up to the last byte");
    assert_eq!(attach("cid", 3), too_much);
    assert_eq!(attach("ann", 3), Ok(()), "who is there may ask again");
}

#[test]
fn each_of_as_many_members_as_there_may_be_can_attach_a_kilobyte() {
    let mut lab = Lab::default();
    for number in 0..MEMBERS {
        lab.ask(join("g", &format!("s{number}"), Some(opening()), labels(1_000))).expect("there is room");
    }
}

#[test]
fn the_groups_of_a_namespace_are_limited() {
    let mut lab = Lab::default();
    for number in 1..GROUPS {
        lab.ask(configure(&format!("g{number}"), Some("x"))).expect("there is room");
    }
    lab.join("last", "ann");
    assert_eq!(lab.ask(join("one more", "ann", None, no_labels())), reached("groups of one namespace", GROUPS));
    assert_eq!(lab.ask(configure("one more", Some("x"))), reached("groups of one namespace", GROUPS));
    lab.join("g1", "ann");
    lab.ask(configure("g2", Some("y"))).expect("it is there");
    assert_eq!(lab.ask(configure("one more", None)), Ok(GroupOutcome::Configured { config: Revision(0) }));
    lab.ask(configure("g2", None)).expect("nothing is left of it");
    lab.ask(configure("one more", Some("x"))).expect("there is room again");
}

#[test]
fn a_command_counts_as_large_as_what_it_brings_along() {
    let opening = Opening { metadata: labels(10), ..opening() };
    assert_eq!(join("g", "ann", Some(opening), labels(5)).bytes(), 15);
    assert_eq!(join("g", "ann", None, labels(5)).bytes(), 5);
    let (group, session) = (Text::from("g"), Text::from("ann"));
    let leave = GroupCommand::Leave { group: group.clone(), session: session.clone(), member: None };
    assert_eq!(leave.bytes(), 0);
    assert_eq!((configure("g", Some("1234")).bytes(), configure("g", None).bytes()), (4, 0));
    let basis = Basis { membership: Revision(2), config: Revision(0) };
    let assignments = Arc::new(BTreeMap::from([(Revision(1), "123".into()), (Revision(2), "45".into())]));
    let assign = GroupCommand::Assign { group, session, token: Revision(2), basis, assignments };
    assert_eq!(assign.bytes(), 5);
}
