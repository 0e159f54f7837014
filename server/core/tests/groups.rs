//! Groups: the most important cases one by one, and all of them against a model.

mod lab;
mod limits;
mod model;
mod naive;

use std::sync::Arc;

use lab::{HOME, Lab, no_labels, opening};
use tenure_core::{
    Command, EndReason, Event, Group, GroupChange, GroupCommand, GroupOutcome, Recorded, Rejection, Revision, Table,
    Text,
};

#[test]
fn a_deposed_leader_assigns_nothing_any_more_also_after_it_came_back() {
    let mut lab = Lab::default();
    lab.join("g", "ann");
    lab.join("g", "bob");
    let anns = lab.group().lead.expect("ann leads").token;
    lab.assign("ann", anns, "1").expect("ann leads");
    lab.close("ann");
    let bobs = lab.group().lead.expect("bob leads").token;
    assert!(bobs > anns);
    let refused = |leader: &str| {
        let (group, session) = (Text::from("g"), Text::from("ann"));
        Err(Rejection::NotLeader { group, session, token: anns, leader: Some(leader.into()) })
    };
    assert_eq!(lab.assign("ann", anns, "late"), refused("bob"));
    lab.join("g", "ann");
    assert_eq!(lab.assign("ann", anns, "late"), refused("bob"));
    lab.close("bob");
    assert_eq!(lab.assign("ann", anns, "late"), refused("ann"), "it leads again, but by another token");
    assert!(lab.group().members.values().all(|member| member.assignment.is_none()));
}

#[test]
fn an_assignment_that_was_computed_from_what_has_changed_is_refused_with_what_there_is() {
    let mut lab = Lab::default();
    lab.join("g", "ann");
    let (token, old) = (lab.group().lead.expect("ann leads").token, lab.group().basis());
    let assign = |group: &Group, basis| GroupCommand::Assign {
        group: "g".into(),
        session: "ann".into(),
        token,
        basis,
        assignments: Arc::new(group.members.keys().map(|number| (*number, Text::from("x"))).collect()),
    };
    lab.join("g", "bob");
    let group = lab.group();
    let stale = |basis| Err(Rejection::StaleAssignment { group: "g".into(), basis });
    assert_eq!(lab.ask(assign(&group, old)), stale(group.basis()), "somebody joined");
    let config = Some(Text::from("1000"));
    lab.ask(GroupCommand::Configure { group: "g".into(), config, expected: None }).expect("free for all");
    let current = lab.group().basis();
    assert_eq!(lab.ask(assign(&group, group.basis())), stale(current), "the config changed");
    assert!(!lab.group().is_assigned());
    lab.ask(assign(&group, current)).expect("as it is now");
    assert!(lab.group().is_assigned());
    lab.join("g", "cid");
    assert!(!lab.group().is_assigned(), "cid has none");
    let kept: Vec<bool> = lab.group().members.values().map(|member| member.assignment.is_some()).collect();
    assert_eq!(kept, [true, true, false], "the others keep theirs");
}

#[test]
fn a_session_that_ends_leaves_its_groups_before_it_ends() {
    let mut lab = Lab::default();
    lab.join("g", "ann");
    lab.join("h", "ann");
    let number = lab.join("g", "bob");
    let opened = lab.table.session("ann").expect("open").opened;
    let count = lab.events.len();
    let ended = Command::EndSession { session: "ann".into(), opened, home: HOME, reason: EndReason::Expired };
    lab.table.decide(ended, &mut lab.events).expect("at its home");
    lab.table.commit();
    let told: Vec<&Event> = lab.events[count..].iter().map(|recorded| &recorded.event).collect();
    let [
        Event::Group { group: first, change: GroupChange::Left { reason: EndReason::Expired, lead, .. }, .. },
        Event::Group { group: second, change: GroupChange::Left { lead: None, .. }, .. },
        Event::SessionEnded { .. },
    ] = told.as_slice()
    else {
        panic!("{told:?}")
    };
    assert_eq!((&**first, &**second), ("g", "h"));
    assert_eq!(lead.map(|lead| (lead.member, lead.token)), Some((number, lab.events[count].revision)));
    assert!(lab.table.group("h").is_none(), "nothing is left of it");
}

#[test]
fn a_config_is_set_by_compare_and_set_and_outlives_the_members() {
    let mut lab = Lab::default();
    let configure = |config: Option<&str>, expected: Option<u64>| GroupCommand::Configure {
        group: "g".into(),
        config: config.map(Text::from),
        expected: expected.map(Revision),
    };
    let conflict = |revision| Err(Rejection::ConfigConflict { group: "g".into(), revision: Revision(revision) });
    assert_eq!(lab.ask(configure(Some("1"), Some(7))), conflict(0));
    let Ok(GroupOutcome::Configured { config: Revision(first) }) = lab.ask(configure(Some("1"), Some(0))) else {
        panic!("there was none")
    };
    assert_eq!(lab.ask(configure(Some("2"), Some(0))), conflict(first));
    lab.ask(configure(Some("2"), Some(first))).expect("as expected");
    lab.join("g", "ann");
    lab.close("ann");
    assert_eq!(lab.group().config.as_ref().map(|config| &*config.value), Some("2"));
    assert_eq!(lab.group().lead, None);
    assert_eq!(lab.ask(configure(None, None)), Ok(GroupOutcome::Configured { config: Revision(0) }));
    assert!(lab.table.group("g").is_none(), "nothing is left of it");
    let count = lab.events.len();
    lab.ask(configure(None, None)).expect("once more");
    assert_eq!(lab.events.len(), count);
}

#[test]
fn a_leave_ends_only_the_membership_that_it_names() {
    let mut lab = Lab::default();
    let first = lab.join("g", "ann");
    let leave = |member: Option<Revision>| GroupCommand::Leave { group: "g".into(), session: "ann".into(), member };
    let no_member = Err(Rejection::NotMember { group: "g".into(), session: "ann".into() });
    assert_eq!(lab.ask(leave(Some(first.next()))), no_member);
    lab.ask(leave(Some(first))).expect("a member");
    let second = lab.join("g", "ann");
    lab.ask(leave(Some(first))).expect("left already");
    assert_eq!(lab.group().members.keys().copied().collect::<Vec<_>>(), [second], "a late one ends no later one");
    let stranger = GroupCommand::Leave { group: "g".into(), session: "bob".into(), member: None };
    assert_eq!(lab.ask(stranger), Err(Rejection::SessionNotFound { session: "bob".into() }));
}

/// Leaders in the lost part of the history may have had higher tokens.
#[test]
fn after_a_loss_who_leads_does_so_with_a_new_token() {
    let mut table = Table::default();
    let mut events = Vec::new();
    let (session, group) = (Text::from("ann"), Text::from("g"));
    let join = GroupCommand::Join {
        group: group.clone(),
        session,
        opening: Some(opening()),
        home: HOME,
        attached: None,
        opened: None,
        metadata: no_labels(),
    };
    table.decide(Command::Group(join), &mut events).expect("it joins");
    table.commit();
    let before = table.group(&group).and_then(|group| group.lead).expect("it leads");
    let jump = Revision(1_000);
    table.apply(&Recorded { revision: jump, event: Event::HistoryLost { after: table.revision() } });
    let after = table.group(&group).and_then(|group| group.lead).expect("it leads");
    assert_eq!((after.member, after.token), (before.member, jump));
}

#[test]
fn groups_are_listed_by_their_names() {
    let mut lab = Lab::default();
    for group in ["c", "b2", "aa", "b1", "b"] {
        lab.join(group, "ann");
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
