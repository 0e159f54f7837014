//! Limits on the size and the number of groups.

use tenure_core::testing::{Build, Lab, assign, configure_group, join, label, leave, opening};
use tenure_core::{
    ATTACHED_BYTES, Basis, Command, GROUPS, GroupOutcome, MEMBERS, MEMBERSHIPS, Metadata, Opening, Outcome, Rejection,
    Revision,
};

fn reached(limit: &'static str, bound: usize) -> Rejection {
    Rejection::LimitReached { limit, bound }
}

/// Labels of this size, key and value together.
fn labels(bytes: usize) -> Metadata {
    label("key", &"x".repeat(bytes - 3))
}

#[test]
fn members_of_a_group_and_groups_of_a_session_are_limited() {
    let mut lab = Lab::default();
    for number in 0..MEMBERS {
        lab.join(&format!("s{number}"), "g");
    }
    assert_eq!(lab.reject(join("one more", "g")), reached("members of one group", MEMBERS));
    assert_eq!(lab.join("s0", "g"), lab.group("g").lead.expect("members").member, "a member may join again");

    for number in 1..MEMBERSHIPS {
        lab.join("s0", &format!("h{number}"));
    }
    assert_eq!(lab.reject(join("s0", "h").in_open_session()), reached("groups of one session", MEMBERSHIPS));
}

#[test]
fn labels_of_the_members_of_a_group_are_limited_together() {
    let mut lab = Lab::default();
    let too_much = reached("bytes of metadata in one group", ATTACHED_BYTES);
    let join = |session: &str, bytes| join(session, "g").labels(labels(bytes));
    lab.accept(join("ann", ATTACHED_BYTES - 10));
    assert_eq!(lab.reject(join("bob", 11)), too_much);
    lab.accept(join("bob", 10));
    assert_eq!(lab.reject(join("cid", 3)), too_much);
    lab.accept(join("ann", 3));
}

#[test]
fn each_of_the_maximum_number_of_members_can_have_a_kilobyte_of_labels() {
    let mut lab = Lab::default();
    for number in 0..MEMBERS {
        lab.accept(join(format!("s{number}"), "g").labels(labels(1_000)));
    }
}

#[test]
fn groups_of_a_namespace_are_limited() {
    let mut lab = Lab::default();
    for number in 1..GROUPS {
        lab.accept(configure_group(format!("g{number}"), Some("x")));
    }
    lab.join("ann", "last");
    let full = reached("groups of one namespace", GROUPS);
    assert_eq!(lab.reject(join("ann", "one more").in_open_session()), full);
    assert_eq!(lab.reject(configure_group("one more", Some("x"))), full);
    lab.join("ann", "g1");
    lab.accept(configure_group("g2", Some("y")));
    let cleared = Outcome::Group(GroupOutcome::Configured { config: Revision(0) });
    assert_eq!(lab.accept(configure_group("one more", None)), cleared);
    lab.accept(configure_group("g2", None));
    lab.accept(configure_group("one more", Some("x")));
}

#[test]
fn size_of_a_command_is_that_of_its_labels_config_or_assignments() {
    let bytes = |command| match command {
        Command::Group(command) => command.bytes(),
        other => panic!("{other:?}"),
    };
    let opening = Opening { metadata: labels(10), ..opening() };
    assert_eq!(bytes(join("ann", "g").opening(Some(opening)).labels(labels(5))), 15);
    assert_eq!(bytes(join("ann", "g").in_open_session().labels(labels(5))), 5);
    assert_eq!(bytes(leave("ann", "g")), 0);
    assert_eq!((bytes(configure_group("g", Some("1234"))), bytes(configure_group("g", None))), (4, 0));
    let basis = Basis { membership: Revision(2), config: Revision(0) };
    let assignments = [(Revision(1), "123".into()), (Revision(2), "45".into())];
    assert_eq!(bytes(assign("ann", "g", Revision(2), basis, assignments)), 5);
}
