//! The table against a naive model: flat lists, and one rule that decides which claims are held.

pub mod clients;

use crate::naive;

use std::time::Duration;

use clients::ClientStep;
use naive::Naive;
use proptest::prelude::*;
use tenure_core::testing::{
    Build, acquire, adopt, at, cancel, close, configure, evict, label, move_to, open, operator, release, replayed,
    restored,
};
use tenure_core::{
    AskedMode, Claim, ClaimState, Command, EndReason, Event, Handoff, LockSettings, Mode, Names, Outcome, Preempt,
    Recorded, Rejection, Request, Revision, ServerId, Table, Text, Totals,
};

/// A command whose numbers are indexes into existing objects, so that most commands are meaningful.
#[derive(Clone, Debug)]
enum Step {
    Open {
        session: u8,
        home: u64,
        ttl: u64,
    },
    Move {
        session: u8,
        home: u64,
    },
    Close {
        session: u8,
    },
    EndSession {
        session: u8,
        home: u64,
        stale: bool,
    },
    Acquire {
        session: u8,
        names: u8,
        mode: AskedMode,
        queue: bool,
        priority: i32,
        opens: bool,
        home: u64,
        lingers: bool,
        is_late: bool,
    },
    Cancel {
        session: u8,
        names: u8,
    },
    EndWait {
        claim: usize,
        home: u64,
    },
    Abandon {
        claim: usize,
        home: u64,
    },
    Acknowledge {
        claim: usize,
    },
    Release {
        session: u8,
        name: u8,
        token: usize,
    },
    EndLingering {
        claim: usize,
        home: u64,
    },
    Evict {
        name: u8,
    },
    Update {
        session: u8,
        name: u8,
        token: usize,
    },
    Transfer {
        name: u8,
        token: Option<usize>,
        to: Option<u8>,
        by: Option<u8>,
    },
    Preempt {
        claim: usize,
        home: u64,
    },
    EndTransfer {
        claim: usize,
        home: u64,
    },
    Configure {
        name: u8,
        limit: Option<u32>,
        preempt: bool,
    },
    Adopt {
        dead: u64,
        by: u64,
    },
    Client(ClientStep),
    /// The database loses history.
    Lose,
}

fn mode() -> impl Strategy<Value = AskedMode> {
    prop_oneof![
        3 => Just(AskedMode::Exclusive),
        3 => Just(AskedMode::Shared),
        3 => (1u32..4, prop::option::weighted(0.8, 2u32..4))
            .prop_map(|(permits, limit)| AskedMode::Permits { permits, limit }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let (session, home) = (0u8..4, 1u64..4);
    prop_oneof![
        2 => (session.clone(), home.clone(), 1u64..3)
            .prop_map(|(session, home, ttl)| Step::Open { session, home, ttl }),
        1 => (session.clone(), home.clone()).prop_map(|(session, home)| Step::Move { session, home }),
        1 => session.clone().prop_map(|session| Step::Close { session }),
        1 => (session.clone(), home.clone(), any::<bool>())
            .prop_map(|(session, home, stale)| Step::EndSession { session, home, stale }),
        14 => (session.clone(), 1u8..8, mode(), prop::bool::weighted(0.7), -1i32..2, any::<bool>(), home.clone(),
            prop::bool::weighted(0.15), prop::bool::weighted(0.1))
            .prop_map(|(session, names, mode, queue, priority, opens, home, lingers, is_late)| {
                Step::Acquire { session, names, mode, queue, priority, opens, home, lingers, is_late }
            }),
        2 => (session.clone(), 1u8..8).prop_map(|(session, names)| Step::Cancel { session, names }),
        2 => (any::<usize>(), home.clone()).prop_map(|(claim, home)| Step::EndWait { claim, home }),
        1 => (any::<usize>(), home.clone()).prop_map(|(claim, home)| Step::Abandon { claim, home }),
        1 => any::<usize>().prop_map(|claim| Step::Acknowledge { claim }),
        6 => (session.clone(), 0u8..3, any::<usize>())
            .prop_map(|(session, name, token)| Step::Release { session, name, token }),
        1 => (session.clone(), 0u8..3, any::<usize>())
            .prop_map(|(session, name, token)| Step::Update { session, name, token }),
        4 => (0u8..3, prop::option::of(any::<usize>()), prop::option::of(session.clone()), prop::option::of(session))
            .prop_map(|(name, token, to, by)| Step::Transfer { name, token, to, by }),
        3 => (any::<usize>(), home.clone()).prop_map(|(claim, home)| Step::Preempt { claim, home }),
        1 => (any::<usize>(), home.clone()).prop_map(|(claim, home)| Step::EndTransfer { claim, home }),
        2 => (0u8..3, prop::option::of(1u32..4), any::<bool>())
            .prop_map(|(name, limit, preempt)| Step::Configure { name, limit, preempt }),
        3 => (any::<usize>(), home.clone()).prop_map(|(claim, home)| Step::EndLingering { claim, home }),
        1 => (0u8..3).prop_map(|name| Step::Evict { name }),
        1 => (home.clone(), home).prop_map(|(dead, by)| Step::Adopt { dead, by }),
        24 => clients::step().prop_map(Step::Client),
        1 => Just(Step::Lose),
    ]
}

fn session_id(session: u8) -> Text {
    Text::from(["ann", "bob", "cid", "dot"][usize::from(session)])
}

fn name(name: u8) -> Text {
    Text::from(["a", "b", "c"][usize::from(name)])
}

/// The names whose bits are set.
fn names(bits: u8) -> Names {
    (0..3).filter(|bit| bits & (1 << bit) != 0).map(name).collect()
}

/// An existing claim, or one that does not exist.
fn pick(table: &Table, index: usize) -> Revision {
    let claims: Vec<Revision> = table.claims().map(|claim| claim.id).collect();
    claims.get(index % (claims.len() + 1)).copied().unwrap_or(Revision(1_000_000))
}

fn pick_token(table: &Table, index: usize) -> Revision {
    let tokens: Vec<Revision> = table.claims().filter_map(Claim::token).collect();
    tokens.get(index % (tokens.len() + 1)).copied().unwrap_or(Revision(1))
}

/// The request of a step; none if the step is an event.
fn request(step: &Step, table: &Table) -> Option<Request> {
    match step {
        Step::Client(step) => Some(clients::request(step, table)),
        Step::Lose => None,
        step => Some(command(step, table).into()),
    }
}

/// The table after it has decided a step.
fn decide(table: &mut Table, step: &Step, history: &mut Vec<Recorded>) -> Option<Result<Outcome, Rejection>> {
    if let Some(request) = request(step, table) {
        return Some(table.decide(request, history));
    }
    table.commit();
    history.push(lose(table));
    None
}

/// Applies the loss of history.
fn lose(table: &mut Table) -> Recorded {
    let after = table.revision();
    let lost = Recorded { revision: Revision(after.0 + 10), event: Event::HistoryLost { after } };
    table.apply(&lost);
    lost
}

fn command(step: &Step, table: &Table) -> Command {
    match *step {
        Step::Open { session, home, ttl } => open(session_id(session)).ttl(at(ttl)).at(ServerId(home)),
        Step::Move { session, home } => move_to(session_id(session), ServerId(home)),
        Step::Close { session } => close(session_id(session)),
        Step::EndSession { session, home, stale } => {
            let id = session_id(session);
            let opened = table.session(&id).map_or(Revision(0), |found| found.opened);
            let opened = if stale { Revision(opened.0.saturating_sub(1)) } else { opened };
            Command::EndSession { session: id, opened, home: ServerId(home), reason: EndReason::Expired }
        }
        Step::Acquire { session, names: bits, mode, queue, priority, opens, home, lingers, is_late } => {
            let command = acquire(session_id(session), names(bits)).ttl(at(1)).at(ServerId(home)).mode(mode);
            let command = command.queue(queue).priority(priority).min_hold(at(u64::from(lingers)));
            let command = if opens { command } else { command.in_open_session() };
            // Received now, or before any other event.
            command.received(if is_late { Revision(0) } else { table.revision() })
        }
        Step::Cancel { session, names: bits } => cancel(session_id(session), names(bits)),
        Step::EndWait { claim, home } => Command::EndWait { claim: pick(table, claim), home: ServerId(home) },
        Step::Acknowledge { claim } => Command::Acknowledge { claim: pick(table, claim) },
        Step::Abandon { claim, home } => Command::Abandon { claim: pick(table, claim), home: ServerId(home) },
        Step::Release { session, name: index, token } => {
            release(session_id(session), name(index), pick_token(table, token))
        }
        Step::Update { session, name: index, token } => Command::UpdateClaim {
            session: session_id(session),
            name: name(index),
            token: pick_token(table, token),
            metadata: label("a", "b"),
        },
        Step::Transfer { name: index, token, to, by } => Command::Transfer {
            name: name(index),
            // A holder names its token.
            token: token.or(by.map(usize::from)).map(|token| pick_token(table, token)),
            to: to.map(session_id),
            by: match by {
                Some(session) => Handoff::ByHolder { session: session_id(session) },
                None => Handoff::ByOperator { by: operator(), drain: at(1) },
            },
        },
        Step::Preempt { claim, home } => Command::Preempt { claim: pick(table, claim), home: ServerId(home) },
        Step::EndTransfer { claim, home } => {
            let claim = pick(table, claim);
            let pending = table.claim(claim).and_then(|claim| claim.transfer.as_deref());
            let started = pending.map_or(Revision(0), |transfer| transfer.started);
            Command::EndTransfer { claim, started, home: ServerId(home) }
        }
        Step::Configure { name: index, limit, preempt } => {
            let preempt = preempt.then_some(Preempt { settling: Duration::ZERO, drain: at(1) });
            configure(name(index), LockSettings { limit, preempt })
        }
        Step::EndLingering { claim, home } => Command::EndLingering { claim: pick(table, claim), home: ServerId(home) },
        Step::Evict { name: index } => evict(name(index)),
        Step::Adopt { dead, by } => adopt(ServerId(dead), ServerId(by)),
        Step::Client(_) | Step::Lose => unreachable!("not a plain command"),
    }
}

/// Checks the invariants of every table.
fn check_table(table: &Table) {
    for claim in table.claims() {
        assert!(!claim.spec.names.is_empty());
        for name in &claim.spec.names {
            let lock = table.lock(name).expect("a claimed lock is kept");
            match claim.state {
                ClaimState::Waiting => assert!(lock.waiters().contains(&claim.rank())),
                ClaimState::Held { .. } | ClaimState::Lingering { .. } => assert!(lock.holders().contains(&claim.id)),
            }
        }
        if !matches!(claim.state, ClaimState::Lingering { .. }) {
            let session = table.session(&claim.spec.session).expect("a claim's session is open");
            assert_eq!(session.opened, claim.spec.opened);
        }
        assert!(claim.transfer.is_none() || matches!(claim.state, ClaimState::Held { .. }));
    }
    clients::check(table);
    let groups = || table.groups_after("", None);
    let are = |is: fn(&ClaimState) -> bool| table.claims().filter(|claim| is(&claim.state)).count();
    let expected = Totals {
        sessions: table.sessions_after(Revision(0)).count(),
        locks: table.locks_after("", None).filter(|(_, lock)| !lock.holders().is_empty()).count(),
        holds: are(|state| matches!(state, ClaimState::Held { .. })),
        waiters: are(|state| *state == ClaimState::Waiting),
        groups: groups().count(),
        members: groups().map(|group| group.members.len()).sum(),
    };
    assert_eq!(table.totals(), expected);
    for (_, lock) in table.locks_after("", None) {
        let holders: Vec<&Claim> = lock.holders().iter().filter_map(|holder| table.claim(*holder)).collect();
        assert_eq!(lock.permits(), holders.iter().map(|holder| u64::from(holder.spec.mode.permits())).sum::<u64>());
        if holders.iter().any(|holder| holder.spec.mode == Mode::Exclusive) {
            assert_eq!(holders.len(), 1, "an exclusive hold is alone");
        }
        let shared = holders.iter().filter(|holder| holder.spec.mode == Mode::Shared).count();
        assert!(shared == 0 || shared == holders.len(), "a shared hold is beside shared ones only");
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
            let Some(request) = request(step, &table) else {
                history.push(lose(&mut table));
                naive.lose();
                continue;
            };
            let mut events = Vec::new();
            let before = table.revision();
            let outcome = table.decide(request.clone(), &mut events);
            table.commit();
            let expected = naive.decide(&request, outcome.is_ok());
            prop_assert_eq!(expected, naive::kind_of(&outcome), "answering {:?}", request);
            naive.learn(&table);

            for (recorded, revision) in events.iter().zip(before.0 + 1..) {
                prop_assert_eq!(recorded.revision, Revision(revision), "revisions have no gaps");
                if let Event::ClaimGranted { spec, .. } | Event::ClaimTransferred { spec, .. } = &recorded.event {
                    prop_assert!(recorded.revision > last_token, "tokens rise");
                    prop_assert!(!spec.names.is_empty());
                    last_token = recorded.revision;
                }
            }
            if outcome.is_err() {
                prop_assert!(events.is_empty(), "a rejected command changes nothing: {:?}", events);
            }
            history.extend(events);
            prop_assert_eq!(naive.holders(), naive::holders_of(&table), "after {:?}", request);
            prop_assert_eq!(naive.waiters(), naive::waiters_of(&table), "after {:?}", request);
            prop_assert_eq!(naive.pending(), naive::pending_of(&table), "after {:?}", request);
            prop_assert_eq!(naive.homes(), naive::homes_of(&table), "after {:?}", request);
            prop_assert_eq!(naive.clients(), naive::clients_of(&table), "after {:?}", request);
            prop_assert_eq!(naive.members(), (table.totals().members, table.totals().groups));
            check_table(&table);
        }
        prop_assert_eq!(&replayed(&history), &table, "replaying the events gives the same table");
        prop_assert_eq!(&restored(&table), &table, "its parts restore the same table");
    }

    #[test]
    fn undo_restores_the_table_of_the_last_commit(
        before in prop::collection::vec(step(), 0..40),
        after in prop::collection::vec(step(), 1..20),
    ) {
        let mut table = Table::default();
        let mut history = Vec::new();
        for step in &before {
            // Rejected commands count as well: they must leave nothing to undo.
            let _ = decide(&mut table, step, &mut history);
        }
        table.commit();
        let mut undone = Vec::new();
        for step in &after {
            // The loss of history is an event of another server, for which nothing may be pending.
            if let Some(request) = request(step, &table) {
                let _ = table.decide(request, &mut undone);
            }
        }
        table.undo();
        prop_assert_eq!(&table, &replayed(&history));
        check_table(&table);
    }

    #[test]
    fn repetition_of_an_acquire_gives_the_same_claim(steps in prop::collection::vec(step(), 1..40)) {
        let mut table = Table::default();
        for step in &steps {
            // After a loss of history, a request by way of another home is not repeated, but repairs the hold.
            let Some(request) = request(step, &table) else { continue };
            let mut events = Vec::new();
            let outcome = table.decide(request.clone(), &mut events);
            if let (Command::Acquire { .. }, Ok(Outcome::Held { claim, .. } | Outcome::Waiting { claim, .. })) = (&request.command, &outcome) {
                let mut again = Vec::new();
                let repeated = table.decide(request, &mut again);
                prop_assert!(again.is_empty(), "a repetition has an effect: {:?}", again);
                match repeated {
                    Ok(Outcome::Held { claim: found, .. } | Outcome::Waiting { claim: found, .. }) => prop_assert_eq!(&found, claim),
                    other => prop_assert!(false, "{:?}", other),
                }
            }
            table.commit();
        }
    }
}
