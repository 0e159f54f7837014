//! Groups against a model that is too simple to be wrong, and the cases that matter most one by one.

#[path = "groups/naive.rs"]
mod naive;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use naive::{Naive, answer_of};
use proptest::prelude::*;
use tenure_core::{
    ATTACHED_BYTES, Basis, Command, EndReason, Event, Group, GroupChange, GroupCommand, GroupOutcome, MEMBERS,
    MEMBERSHIPS, Metadata, Opening, Outcome, Recorded, Rejection, Revision, ServerId, Session, Table, Text,
};

const HOME: ServerId = ServerId(1);

/// A command whose numbers are places among what there is, so that most of them mean something.
#[derive(Clone, Debug)]
enum Step {
    Open { session: u8 },
    Close { session: u8 },
    Join { group: u8, session: u8, opens: bool },
    Leave { group: u8, session: u8 },
    Configure { group: u8, config: Option<u8>, expected: Expected },
    Assign { group: u8, by: By, token: Age, basis: Age, whom: Whom, value: u8 },
}

#[derive(Clone, Copy, Debug)]
enum Expected {
    Any,
    None,
    Current,
    Other(u64),
}

#[derive(Clone, Copy, Debug)]
enum By {
    Leader,
    Session(u8),
}

#[derive(Clone, Copy, Debug)]
enum Age {
    Current,
    Older,
    Future,
}

#[derive(Clone, Copy, Debug)]
enum Whom {
    All,
    AllButOne,
    StrangersToo,
}

fn step() -> impl Strategy<Value = Step> {
    let (group, session) = (0u8..2, 0u8..4);
    let age = || prop_oneof![8 => Just(Age::Current), 1 => Just(Age::Older), 1 => Just(Age::Future)];
    let expected = prop_oneof![
        3 => Just(Expected::Any),
        1 => Just(Expected::None),
        2 => Just(Expected::Current),
        1 => (1u64..30).prop_map(Expected::Other),
    ];
    let by = prop_oneof![6 => Just(By::Leader), 1 => session.clone().prop_map(By::Session)];
    let whom = prop_oneof![6 => Just(Whom::All), 1 => Just(Whom::AllButOne), 1 => Just(Whom::StrangersToo)];
    prop_oneof![
        1 => session.clone().prop_map(|session| Step::Open { session }),
        2 => session.clone().prop_map(|session| Step::Close { session }),
        8 => (group.clone(), session.clone(), prop::bool::weighted(0.8))
            .prop_map(|(group, session, opens)| Step::Join { group, session, opens }),
        3 => (group.clone(), session).prop_map(|(group, session)| Step::Leave { group, session }),
        4 => (group.clone(), prop::option::weighted(0.7, 0u8..3), expected)
            .prop_map(|(group, config, expected)| Step::Configure { group, config, expected }),
        8 => (group, by, age(), age(), whom, 0u8..2).prop_map(|(group, by, token, basis, whom, value)| {
            Step::Assign { group, by, token, basis, whom, value }
        }),
    ]
}

fn session_id(session: u8) -> Text {
    Text::from(["ann", "bob", "cid", "dot"][usize::from(session)])
}

fn group_name(group: u8) -> Text {
    Text::from(["g", "h"][usize::from(group)])
}

fn no_labels() -> Metadata {
    Arc::default()
}

fn opening() -> Opening {
    Opening { ttl: Duration::from_secs(9), disconnect_grace: None, owner: "owner".into(), metadata: no_labels() }
}

fn aged(revision: u64, age: Age) -> Revision {
    match age {
        Age::Current => Revision(revision),
        Age::Older => Revision(revision.saturating_sub(1)),
        Age::Future => Revision(revision + 1_000),
    }
}

fn command(step: &Step, table: &Table) -> Command {
    let group = match *step {
        Step::Open { session } => {
            return Command::OpenSession {
                session: session_id(session),
                opening: opening(),
                home: HOME,
                attachment: 0,
            };
        }
        Step::Close { session } => return Command::CloseSession { session: session_id(session) },
        Step::Join { group, session, opens } => {
            join(&group_name(group), &session_id(session), opens.then(opening), no_labels())
        }
        Step::Leave { group, session } => {
            GroupCommand::Leave { group: group_name(group), session: session_id(session), member: None }
        }
        Step::Configure { group, config, expected } => {
            let current = table.group(&group_name(group)).map_or(Revision(0), |group| group.config_revision());
            GroupCommand::Configure {
                group: group_name(group),
                config: config.map(|value| value.to_string().into()),
                expected: match expected {
                    Expected::Any => None,
                    Expected::None => Some(Revision(0)),
                    Expected::Current => Some(current),
                    Expected::Other(revision) => Some(Revision(revision)),
                },
            }
        }
        Step::Assign { group, by, token, basis, whom, value } => {
            assignment(table, &group_name(group), by, token, basis, whom, value)
        }
    };
    Command::Group(group)
}

fn join(group: &str, session: &str, opening: Option<Opening>, metadata: Metadata) -> GroupCommand {
    GroupCommand::Join { group: group.into(), session: session.into(), opening, home: HOME, metadata }
}

fn assignment(table: &Table, group: &str, by: By, token: Age, basis: Age, whom: Whom, value: u8) -> GroupCommand {
    let found = table.group(group);
    let leader = found.and_then(|found| found.leader()).map(|leader| leader.spec.session.clone());
    let mut numbers: Vec<Revision> = found.iter().flat_map(|found| found.members.keys().copied()).collect();
    match whom {
        Whom::All => {}
        Whom::AllButOne => drop(numbers.pop()),
        Whom::StrangersToo => numbers.push(Revision(999_999)),
    }
    let lead = found.and_then(|found| found.lead).map_or(1, |lead| lead.token.0);
    let current = found.map_or(Basis { membership: Revision(0), config: Revision(0) }, |found| found.basis());
    GroupCommand::Assign {
        group: group.into(),
        session: match by {
            By::Leader => leader.unwrap_or_else(|| session_id(0)),
            By::Session(session) => session_id(session),
        },
        token: aged(lead, token),
        basis: Basis { membership: aged(current.membership.0, basis), ..current },
        assignments: Arc::new(
            numbers.into_iter().map(|number| (number, format!("{number}: {value}").into())).collect(),
        ),
    }
}

fn replayed(events: &[Recorded]) -> Table {
    let mut table = Table::default();
    for recorded in events {
        table.apply(recorded);
    }
    table
}

/// A table that was restored from the parts of another.
fn restored(table: &Table) -> Table {
    let sessions: Vec<Session> = table.sessions_after(Revision(0)).cloned().collect();
    let groups: Vec<Arc<Group>> = table.groups_after("", None).cloned().collect();
    Table::restore(table.revision(), table.lost(), sessions, Vec::new(), Vec::new(), groups)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn decides_as_the_model_does(steps in prop::collection::vec(step(), 1..60)) {
        let (mut table, mut naive) = (Table::default(), Naive::default());
        let mut history: Vec<Recorded> = Vec::new();
        let mut tokens: BTreeMap<Text, Revision> = BTreeMap::new();
        for step in &steps {
            let command = command(step, &table);
            let before = table.revision();
            let mut events = Vec::new();
            let outcome = table.decide(command.clone(), &mut events);
            table.commit();
            prop_assert_eq!(answer_of(&outcome), naive.decide(&command), "answering {:?}", command);
            naive.check(&table);
            if outcome.is_err() {
                prop_assert!(events.is_empty(), "a rejected command changes nothing: {:?}", events);
            }
            for recorded in &events {
                if let Event::Group { group, change: GroupChange::Joined { lead, .. } | GroupChange::Left { lead: Some(lead), .. }, .. } = &recorded.event {
                    let last = tokens.insert(group.clone(), lead.token).unwrap_or_default();
                    prop_assert!(lead.token == last || (lead.token > last && lead.token > before), "tokens rise");
                }
            }
            history.extend(events);
        }
        prop_assert_eq!(&replayed(&history), &table, "replaying the events gives the same table");
        prop_assert_eq!(&restored(&table), &table, "its parts restore the same table");
    }

    #[test]
    fn what_is_not_committed_can_be_undone(
        before in prop::collection::vec(step(), 0..40),
        after in prop::collection::vec(step(), 1..20),
    ) {
        let (mut table, mut history) = (Table::default(), Vec::new());
        for step in &before {
            // What is rejected counts as well: it must leave nothing to undo.
            let _ = table.decide(command(step, &table), &mut history);
        }
        table.commit();
        let mut undone = Vec::new();
        for step in &after {
            let _ = table.decide(command(step, &table), &mut undone);
        }
        table.undo();
        prop_assert_eq!(&table, &replayed(&history));
    }

    #[test]
    fn what_took_effect_can_be_asked_again(steps in prop::collection::vec(step(), 1..40)) {
        let mut table = Table::default();
        for step in &steps {
            let command = command(step, &table);
            let first = table.decide(command.clone(), &mut Vec::new());
            if first.is_ok() && !matches!(command, Command::Group(GroupCommand::Configure { expected: Some(_), .. })) {
                let mut again = Vec::new();
                let second = table.decide(command, &mut again);
                prop_assert!(again.is_empty(), "asking again changes nothing: {:?}", again);
                prop_assert_eq!(answer_of(&second), answer_of(&first));
            }
            table.commit();
        }
    }
}

/// A table whose decisions are committed at once.
#[derive(Default)]
struct Lab {
    table: Table,
    events: Vec<Recorded>,
}

impl Lab {
    fn ask(&mut self, command: GroupCommand) -> Result<GroupOutcome, Rejection> {
        let outcome = self.table.decide(Command::Group(command), &mut self.events);
        self.table.commit();
        match outcome {
            Ok(Outcome::Group(outcome)) => Ok(outcome),
            Ok(other) => panic!("not about a group: {other:?}"),
            Err(rejection) => Err(rejection),
        }
    }

    fn join(&mut self, group: &str, session: &str) -> Revision {
        match self.ask(join(group, session, Some(opening()), no_labels())) {
            Ok(GroupOutcome::Joined { member, .. }) => member,
            other => panic!("{session} should have joined: {other:?}"),
        }
    }

    fn group(&self) -> Arc<Group> {
        self.table.group("g").expect("it is there").clone()
    }

    fn assign(&mut self, session: &str, token: Revision, value: &str) -> Result<GroupOutcome, Rejection> {
        let group = self.group();
        let assignments = Arc::new(group.members.keys().map(|number| (*number, Text::from(value))).collect());
        self.ask(GroupCommand::Assign {
            group: "g".into(),
            session: session.into(),
            token,
            basis: group.basis(),
            assignments,
        })
    }

    fn close(&mut self, session: &str) {
        let closed = self.table.decide(Command::CloseSession { session: session.into() }, &mut self.events);
        assert_eq!(closed, Ok(Outcome::Done));
        self.table.commit();
    }
}

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

/// Others may have led with higher tokens in what was lost.
#[test]
fn after_a_loss_who_leads_does_so_with_a_new_token() {
    let mut table = Table::default();
    let mut events = Vec::new();
    let (session, group) = (session_id(0), group_name(0));
    let join = GroupCommand::Join {
        group: group.clone(),
        session,
        opening: Some(opening()),
        home: HOME,
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
