//! The table against a model that is too simple to be wrong: flat lists, and one rule that says who may hold what.

mod naive;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use naive::Naive;
use proptest::prelude::*;
use tenure_core::{
    Claim, ClaimState, Command, EndReason, Event, Eviction, Opening, Outcome, Recorded, Revision, ServerId, Session,
    Table, Text,
};

fn text(value: &str) -> Text {
    Arc::from(value)
}

/// A command whose numbers are places among what there is, so that most of them mean something.
#[derive(Clone, Debug)]
enum Step {
    Open { session: u8, home: u64, ttl: u64 },
    Attach { session: u8, home: u64 },
    Close { session: u8 },
    EndSession { session: u8, home: u64, stale: bool },
    Acquire { session: u8, names: u8, queue: bool, priority: i32, opens: bool, home: u64, lingers: bool },
    Cancel { session: u8, names: u8 },
    EndWait { claim: usize },
    Abandon { claim: usize, home: u64 },
    Release { session: u8, name: u8, token: usize },
    EndLingering { claim: usize, home: u64 },
    Evict { name: u8 },
    Adopt { dead: u64, by: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let (session, home) = (0u8..4, 1u64..4);
    prop_oneof![
        2 => (session.clone(), home.clone(), 1u64..3).prop_map(|(session, home, ttl)| Step::Open { session, home, ttl }),
        1 => (session.clone(), home.clone()).prop_map(|(session, home)| Step::Attach { session, home }),
        1 => session.clone().prop_map(|session| Step::Close { session }),
        1 => (session.clone(), home.clone(), any::<bool>())
            .prop_map(|(session, home, stale)| Step::EndSession { session, home, stale }),
        12 => (session.clone(), 1u8..8, any::<bool>(), -1i32..2, any::<bool>(), home.clone(), prop::bool::weighted(0.2))
            .prop_map(|(session, names, queue, priority, opens, home, lingers)| {
                Step::Acquire { session, names, queue, priority, opens, home, lingers }
            }),
        2 => (session.clone(), 1u8..8).prop_map(|(session, names)| Step::Cancel { session, names }),
        2 => any::<usize>().prop_map(|claim| Step::EndWait { claim }),
        1 => (any::<usize>(), home.clone()).prop_map(|(claim, home)| Step::Abandon { claim, home }),
        6 => (session, 0u8..3, any::<usize>()).prop_map(|(session, name, token)| Step::Release { session, name, token }),
        3 => (any::<usize>(), home.clone()).prop_map(|(claim, home)| Step::EndLingering { claim, home }),
        1 => (0u8..3).prop_map(|name| Step::Evict { name }),
        1 => (home.clone(), home).prop_map(|(dead, by)| Step::Adopt { dead, by }),
    ]
}

fn session_id(session: u8) -> Text {
    text(["ann", "bob", "cid", "dot"][usize::from(session)])
}

fn name(name: u8) -> Text {
    text(["a", "b", "c"][usize::from(name)])
}

/// The names whose bits are set.
fn names(bits: u8) -> Vec<Text> {
    (0..3).filter(|bit| bits & (1 << bit) != 0).map(name).collect()
}

/// One of the claims that are there, or one that is not.
fn pick(table: &Table, place: usize) -> Revision {
    let claims: Vec<Revision> = table.claims().map(|claim| claim.id).collect();
    claims.get(place % (claims.len() + 1)).copied().unwrap_or(Revision(1_000_000))
}

fn command(step: &Step, table: &Table) -> Command {
    let opening =
        |ttl| Opening { ttl: Duration::from_secs(ttl), owner: text("owner"), metadata: Arc::new(BTreeMap::new()) };
    match *step {
        Step::Open { session, home, ttl } => {
            Command::OpenSession { session: session_id(session), opening: opening(ttl), home: ServerId(home) }
        }
        Step::Attach { session, home } => Command::AttachSession { session: session_id(session), home: ServerId(home) },
        Step::Close { session } => Command::CloseSession { session: session_id(session) },
        Step::EndSession { session, home, stale } => {
            let id = session_id(session);
            let opened = table.session(&id).map_or(Revision(0), |found| found.opened);
            let opened = if stale { Revision(opened.0.saturating_sub(1)) } else { opened };
            Command::EndSession { session: id, opened, home: ServerId(home), reason: EndReason::Expired }
        }
        Step::Acquire { session, names: bits, queue, priority, opens, home, lingers } => Command::Acquire {
            session: session_id(session),
            opening: opens.then(|| opening(1)),
            home: ServerId(home),
            names: names(bits),
            queue,
            priority,
            metadata: Arc::new(BTreeMap::new()),
            min_hold: Duration::from_secs(u64::from(lingers)),
        },
        Step::Cancel { session, names: bits } => {
            Command::CancelAcquire { session: session_id(session), names: names(bits) }
        }
        Step::EndWait { claim } => Command::EndWait { claim: pick(table, claim) },
        Step::Abandon { claim, home } => Command::Abandon { claim: pick(table, claim), home: ServerId(home) },
        Step::Release { session, name: place, token } => {
            let tokens: Vec<Revision> = table.claims().filter_map(Claim::token).collect();
            let token = tokens.get(token % (tokens.len() + 1)).copied().unwrap_or(Revision(1));
            Command::Release { session: session_id(session), name: name(place), token }
        }
        Step::EndLingering { claim, home } => Command::EndLingering { claim: pick(table, claim), home: ServerId(home) },
        Step::Evict { name: place } => Command::Evict {
            name: name(place),
            token: None,
            eviction: Eviction { operator: text("op"), note: text("") },
        },
        Step::Adopt { dead, by } => Command::Adopt { dead: ServerId(dead), by: ServerId(by) },
    }
}

/// A table that was restored from the parts of another.
fn restored(table: &Table) -> Table {
    let sessions: Vec<Session> = table.sessions_after(Revision(0)).cloned().collect();
    Table::restore(table.revision(), sessions, table.claims().cloned().collect(), Vec::new())
}

fn replayed(events: &[Recorded]) -> Table {
    let mut table = Table::default();
    for recorded in events {
        table.apply(recorded);
    }
    table
}

/// What has to be true of any table.
fn check_table(table: &Table) {
    for claim in table.claims() {
        assert!(!claim.spec.names.is_empty());
        for name in &claim.spec.names {
            let lock = table.lock(name).expect("a claimed lock is kept");
            match claim.state {
                ClaimState::Waiting => assert!(lock.waiters.contains(&claim.rank())),
                ClaimState::Held { .. } | ClaimState::Lingering { .. } => assert_eq!(lock.holder, Some(claim.id)),
            }
        }
        if !matches!(claim.state, ClaimState::Lingering { .. }) {
            let session = table.session(&claim.spec.session).expect("a claim's session is open");
            assert_eq!(session.opened, claim.spec.opened);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, ..ProptestConfig::default() })]

    #[test]
    fn decides_as_the_model_does(steps in prop::collection::vec(step(), 1..60)) {
        let mut table = Table::default();
        let mut naive = Naive::default();
        let mut history: Vec<Recorded> = Vec::new();
        let mut last_token = Revision(0);
        for step in &steps {
            let command = command(step, &table);
            let mut events = Vec::new();
            let outcome = table.decide(command.clone(), &mut events);
            table.commit();
            let expected = naive.decide(&command, outcome.is_ok());
            naive.learn(&table);

            for (place, recorded) in events.iter().enumerate() {
                prop_assert_eq!(recorded.revision, Revision((history.len() + place + 1) as u64), "revisions have no gaps");
                if let Event::ClaimGranted { spec, .. } = &recorded.event {
                    prop_assert!(recorded.revision > last_token, "tokens rise");
                    prop_assert!(!spec.names.is_empty());
                    last_token = recorded.revision;
                }
            }
            if outcome.is_err() {
                prop_assert!(events.is_empty(), "a rejected command changes nothing: {:?}", events);
            }
            history.extend(events);
            prop_assert_eq!(naive.holders(), naive::holders_of(&table), "after {:?}", command);
            prop_assert_eq!(naive.waiters(), naive::waiters_of(&table), "after {:?}", command);
            prop_assert_eq!(expected, naive::kind_of(&outcome), "answering {:?}", command);
            check_table(&table);
        }
        prop_assert_eq!(&replayed(&history), &table, "replaying the events gives the same table");
        prop_assert_eq!(&restored(&table), &table, "its parts restore the same table");
    }

    #[test]
    fn what_is_not_committed_can_be_undone(
        before in prop::collection::vec(step(), 0..40),
        after in prop::collection::vec(step(), 1..20),
    ) {
        let mut table = Table::default();
        let mut history = Vec::new();
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
        check_table(&table);
    }

    #[test]
    fn asking_again_gives_the_claim_that_is_there(steps in prop::collection::vec(step(), 1..40)) {
        let mut table = Table::default();
        for step in &steps {
            let command = command(step, &table);
            let mut events = Vec::new();
            let outcome = table.decide(command.clone(), &mut events);
            if let (Command::Acquire { .. }, Ok(Outcome::Held { claim, .. } | Outcome::Waiting { claim, .. })) = (&command, &outcome) {
                let mut again = Vec::new();
                let repeated = table.decide(command, &mut again);
                prop_assert!(again.is_empty(), "asking again changes nothing: {:?}", again);
                match repeated {
                    Ok(Outcome::Held { claim: found, .. } | Outcome::Waiting { claim: found, .. }) => prop_assert_eq!(&found, claim),
                    other => prop_assert!(false, "{:?}", other),
                }
            }
            table.commit();
        }
    }
}
