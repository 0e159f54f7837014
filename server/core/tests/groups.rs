//! Groups: the most important cases one by one, and all of them against a model.

mod limits;
mod model;
mod naive;

use tenure_core::testing::{self, Build, Lab, configure_group, expire, join, leave};
use tenure_core::{
    Basis, Command, EndReason, Event, Group, GroupChange, GroupOutcome, Outcome, Rejection, Revision, Text,
};

/// Assigns a value to each member of the group "g", computed from its current state.
fn assign(group: &Group, session: &str, token: Revision, value: &str) -> Command {
    assign_from(group, session, token, group.basis(), value)
}

fn assign_from(group: &Group, session: &str, token: Revision, basis: Basis, value: &str) -> Command {
    testing::assign(session, "g", token, basis, group.members.keys().map(|number| (*number, Text::from(value))))
}

fn lead_token(lab: &Lab) -> Revision {
    lab.group("g").lead.expect("a leader").token
}

#[test]
fn assignment_of_a_former_leader_is_rejected_even_if_it_leads_again() {
    let mut lab = Lab::default();
    lab.join("ann", "g");
    lab.join("bob", "g");
    let anns = lead_token(&lab);
    lab.accept(assign(&lab.group("g"), "ann", anns, "1"));
    lab.close("ann");
    assert!(lead_token(&lab) > anns);
    let rejection = |leader: &str| {
        let (group, session) = (Text::from("g"), Text::from("ann"));
        Rejection::NotLeader { group, session, token: anns, leader: Some(leader.into()) }
    };
    assert_eq!(lab.reject(assign(&lab.group("g"), "ann", anns, "late")), rejection("bob"));
    lab.join("ann", "g");
    assert_eq!(lab.reject(assign(&lab.group("g"), "ann", anns, "late")), rejection("bob"));
    lab.close("bob");
    let again = lab.reject(assign(&lab.group("g"), "ann", anns, "late"));
    assert_eq!(again, rejection("ann"), "it leads again, but by another token");
    assert!(lab.group("g").members.values().all(|member| member.assignment.is_none()));
}

#[test]
fn assignment_from_an_old_basis_is_rejected_with_the_current_one() {
    let mut lab = Lab::default();
    lab.join("ann", "g");
    let (token, old) = (lead_token(&lab), lab.group("g").basis());
    lab.join("bob", "g");
    let group = lab.group("g");
    let stale = |basis| Rejection::StaleAssignment { group: "g".into(), basis };
    assert_eq!(lab.reject(assign_from(&group, "ann", token, old, "x")), stale(group.basis()), "a member joined");
    lab.accept(configure_group("g", Some("1000")));
    let current = lab.group("g").basis();
    assert_eq!(lab.reject(assign(&group, "ann", token, "x")), stale(current), "the config changed");
    assert!(!lab.group("g").is_assigned());
    lab.accept(assign_from(&group, "ann", token, current, "x"));
    assert!(lab.group("g").is_assigned());
    lab.join("cid", "g");
    assert!(!lab.group("g").is_assigned(), "cid has none");
    let kept: Vec<bool> = lab.group("g").members.values().map(|member| member.assignment.is_some()).collect();
    assert_eq!(kept, [true, true, false], "the others keep theirs");
}

#[test]
fn session_that_ends_leaves_its_groups_first() {
    let mut lab = Lab::default();
    lab.join("ann", "g");
    lab.join("ann", "h");
    let number = lab.join("bob", "g");
    let count = lab.events.len();
    lab.accept(expire(lab.table.session("ann").expect("open")));
    let events: Vec<&Event> = lab.events[count..].iter().map(|recorded| &recorded.event).collect();
    let [
        Event::Group { group: first, change: GroupChange::Left { reason: EndReason::Expired, lead, .. }, .. },
        Event::Group { group: second, change: GroupChange::Left { lead: None, .. }, .. },
        Event::SessionEnded { .. },
    ] = events.as_slice()
    else {
        panic!("{events:?}")
    };
    assert_eq!((&**first, &**second), ("g", "h"));
    assert_eq!(lead.map(|lead| (lead.member, lead.token)), Some((number, lab.events[count].revision)));
    assert!(lab.table.group("h").is_none(), "it has neither members nor a config");
}

#[test]
fn config_is_set_on_condition_of_the_current_one_and_outlives_the_members() {
    let mut lab = Lab::default();
    let conflict = |revision| Rejection::ConfigConflict { group: "g".into(), revision: Revision(revision) };
    assert_eq!(lab.reject(configure_group("g", Some("1")).expected(Revision(7))), conflict(0));
    let set = lab.accept(configure_group("g", Some("1")).expected(Revision(0)));
    let Outcome::Group(GroupOutcome::Configured { config: Revision(first) }) = set else { panic!("{set:?}") };
    assert_eq!(lab.reject(configure_group("g", Some("2")).expected(Revision(0))), conflict(first));
    lab.accept(configure_group("g", Some("2")).expected(Revision(first)));
    lab.join("ann", "g");
    lab.close("ann");
    assert_eq!(lab.group("g").config.as_ref().map(|config| &*config.value), Some("2"));
    assert_eq!(lab.group("g").lead, None);
    let cleared = Outcome::Group(GroupOutcome::Configured { config: Revision(0) });
    assert_eq!(lab.accept(configure_group("g", None)), cleared);
    assert!(lab.table.group("g").is_none(), "it has neither members nor a config");
    lab.accept_without_effect(configure_group("g", None));
}

#[test]
fn leave_ends_only_the_named_membership() {
    let mut lab = Lab::default();
    let first = lab.join("ann", "g");
    let no_member = Rejection::NotMember { group: "g".into(), session: "ann".into() };
    assert_eq!(lab.reject(leave("ann", "g").member(first.next())), no_member);
    lab.accept(leave("ann", "g").member(first));
    let second = lab.join("ann", "g");
    lab.accept(leave("ann", "g").member(first));
    assert_eq!(lab.group("g").members.keys().copied().collect::<Vec<_>>(), [second], "a late one ends no later one");
    assert_eq!(lab.reject(leave("bob", "g")), Rejection::SessionNotFound("bob".into()));
}

/// Leaders in the lost part of the history may have had higher tokens.
#[test]
fn leader_has_a_new_token_after_a_loss_of_history() {
    let mut lab = Lab::default();
    lab.accept(join("ann", "g"));
    let before = lab.group("g").lead.expect("a leader");
    let jump = lab.lose();
    let after = lab.group("g").lead.expect("a leader");
    assert_eq!((after.member, after.token), (before.member, jump));
}

#[test]
fn groups_are_listed_by_their_names() {
    let mut lab = Lab::default();
    for group in ["c", "b2", "aa", "b1", "b"] {
        lab.join("ann", group);
    }
    let listed = |prefix: &str, after: Option<&str>| -> Vec<String> {
        lab.table.groups_after(prefix, after).map(|group| group.name.to_string()).collect()
    };
    assert_eq!(listed("", None), ["aa", "b", "b1", "b2", "c"]);
    assert_eq!(listed("", Some("b1")), ["b2", "c"]);
    assert_eq!(listed("b", None), ["b", "b1", "b2"]);
    assert_eq!(listed("b", Some("a")), ["b", "b1", "b2"], "there is another one between");
    assert_eq!(listed("b", Some("b")), ["b1", "b2"]);
    assert_eq!(listed("b", Some("b1")), ["b2"]);
    assert!(listed("b", Some("c")).is_empty());
}
