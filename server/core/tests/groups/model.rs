//! Groups against a naive model.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tenure_core::testing::{Build, assign, close, configure_group, join, leave, open, replayed, restored};
use tenure_core::{Basis, Command, Event, GroupChange, GroupCommand, Recorded, Revision, Table, Text};

use super::naive::{Naive, answer_of};

/// A command whose numbers are indexes into existing objects, so that most commands are meaningful.
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

fn aged(revision: u64, age: Age) -> Revision {
    match age {
        Age::Current => Revision(revision),
        Age::Older => Revision(revision.saturating_sub(1)),
        Age::Future => Revision(revision + 1_000),
    }
}

fn command(step: &Step, table: &Table) -> Command {
    match *step {
        Step::Open { session } => open(session_id(session)),
        Step::Close { session } => close(session_id(session)),
        Step::Join { group, session, opens: true } => join(session_id(session), group_name(group)),
        Step::Join { group, session, opens: false } => join(session_id(session), group_name(group)).in_open_session(),
        Step::Leave { group, session } => leave(session_id(session), group_name(group)),
        Step::Configure { group, config, expected } => {
            let current = table.group(&group_name(group)).map_or(Revision(0), |group| group.config_revision());
            let value = config.map(|value| value.to_string());
            let command = configure_group(group_name(group), value.as_deref());
            match expected {
                Expected::Any => command,
                Expected::None => command.expected(Revision(0)),
                Expected::Current => command.expected(current),
                Expected::Other(revision) => command.expected(Revision(revision)),
            }
        }
        Step::Assign { group, by, token, basis, whom, value } => {
            assignment(table, &group_name(group), by, token, basis, whom, value)
        }
    }
}

fn assignment(table: &Table, group: &str, by: By, token: Age, basis: Age, whom: Whom, value: u8) -> Command {
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
    let session = match by {
        By::Leader => leader.unwrap_or_else(|| session_id(0)),
        By::Session(session) => session_id(session),
    };
    let basis = Basis { membership: aged(current.membership.0, basis), ..current };
    let assignments = numbers.into_iter().map(|number| (number, format!("{number}: {value}").into()));
    assign(session, group, aged(lead, token), basis, assignments)
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
    fn undo_restores_the_table_of_the_last_commit(
        before in prop::collection::vec(step(), 0..40),
        after in prop::collection::vec(step(), 1..20),
    ) {
        let (mut table, mut history) = (Table::default(), Vec::new());
        for step in &before {
            // Rejected commands count as well: they must leave nothing to undo.
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
    fn repetition_of_an_accepted_command_has_no_effect(steps in prop::collection::vec(step(), 1..40)) {
        let mut table = Table::default();
        for step in &steps {
            let command = command(step, &table);
            let first = table.decide(command.clone(), &mut Vec::new());
            if first.is_ok() && !matches!(command, Command::Group(GroupCommand::Configure { expected: Some(_), .. })) {
                let mut again = Vec::new();
                let second = table.decide(command, &mut again);
                prop_assert!(again.is_empty(), "a repetition has an effect: {:?}", again);
                prop_assert_eq!(answer_of(&second), answer_of(&first));
            }
            table.commit();
        }
    }
}
