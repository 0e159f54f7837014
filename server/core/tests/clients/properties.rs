//! Properties of clients that hold for all sequences of their commands.

use std::collections::BTreeSet;

use proptest::prelude::*;
use tenure_core::testing::{
    Build, acquire, change, close, connect, declaration, declared_claim, evict, replayed, restored,
};
use tenure_core::{
    Absence, Change, Claim, ClaimState, Command, Declaration, Item, Outcome, Recorded, Revision, ServerId, Table, Text,
};

use super::KIM;
use crate::model::clients;

const NAMES: [&str; 3] = ["a", "b", "c"];

/// What a client wants by a number.
#[derive(Clone, Debug)]
struct Want {
    number: u64,
    session: u64,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Session(&'static str),
    Claim { name: &'static str, shared: bool },
    Membership(&'static str),
}

impl Want {
    fn declaration(&self) -> Declaration {
        let declaration = declaration(self.session);
        match self.what {
            What::Session(id) => declaration.opens(id),
            What::Claim { name, shared: false } => declaration.claims(declared_claim(self.number, name)),
            What::Claim { name, shared: true } => declaration.claims(declared_claim(self.number, name).shared()),
            What::Membership(group) => declaration.joins(self.number, group),
        }
    }

    fn is(&self, item: &Item, table: &Table) -> bool {
        match (&self.what, item) {
            (What::Session(id), Item::Session(found)) => **id == **found,
            (What::Claim { name, .. }, Item::Claim(claim)) => {
                table.claim(*claim).is_some_and(|claim| *claim.spec.names[0] == **name)
            }
            (What::Membership(group), Item::Membership(found)) => **group == *found.group,
            _ => false,
        }
    }
}

/// A step of the client, of the network, or of others.
#[derive(Clone, Debug)]
enum Step {
    /// The client wants this, in one of its sessions unless that is a session.
    Want { session: usize, what: What },
    /// The client no longer wants something.
    Drop(usize),
    /// The client connects again at this server. Its Hello arrives, and perhaps the reply.
    Connect { home: u64, replied: bool },
    /// A change arrives that was sent at some time, whether or not it has arrived before.
    Arrive { index: usize, replied: bool },
    /// Another session claims a lock.
    Claim(&'static str),
    /// That session is closed.
    Close,
    /// An operator ends what holds a lock.
    Evict(&'static str),
}

fn what() -> impl Strategy<Value = What> {
    prop_oneof![
        2 => prop::sample::select(vec!["s", "t"]).prop_map(What::Session),
        4 => (prop::sample::select(NAMES.to_vec()), any::<bool>())
            .prop_map(|(name, shared)| What::Claim { name, shared }),
        1 => prop::sample::select(vec!["g", "h"]).prop_map(What::Membership),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let name = prop::sample::select(NAMES.to_vec());
    prop_oneof![
        6 => (any::<usize>(), what()).prop_map(|(session, what)| Step::Want { session, what }),
        3 => any::<usize>().prop_map(Step::Drop),
        2 => (1u64..4, any::<bool>()).prop_map(|(home, replied)| Step::Connect { home, replied }),
        8 => (any::<usize>(), prop::bool::weighted(0.7)).prop_map(|(index, replied)| Step::Arrive { index, replied }),
        1 => name.clone().prop_map(Step::Claim),
        1 => Just(Step::Close),
        1 => name.prop_map(Step::Evict),
    ]
}

/// A client with a network that delivers its changes in any order, late and repeatedly.
struct World {
    table: Table,
    epoch: u64,
    home: ServerId,
    last: u64,
    wants: Vec<Want>,
    known: BTreeSet<u64>,
    /// All changes that were sent.
    sent: Vec<Command>,
    /// The numbers that exist, and those that have existed and ended.
    exist: BTreeSet<u64>,
    ended: BTreeSet<u64>,
    /// The numbers that were reported as absent.
    absent: BTreeSet<u64>,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            table: Table::default(),
            epoch: 0,
            home: ServerId(1),
            last: 0,
            wants: Vec::new(),
            known: BTreeSet::new(),
            sent: Vec::new(),
            exist: BTreeSet::new(),
            ended: BTreeSet::new(),
            absent: BTreeSet::new(),
        };
        world.connect(1, true);
        world
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Want { session, what } => self.want(*session, what.clone()),
            Step::Drop(index) if !self.wants.is_empty() => {
                let number = self.wants[index % self.wants.len()].number;
                self.forget(number);
                self.send(Change::Withdraw(number));
            }
            Step::Drop(_) => {}
            Step::Connect { home, replied } => self.connect(*home, *replied),
            Step::Arrive { index, replied } if !self.sent.is_empty() => {
                self.arrive(index % self.sent.len(), *replied);
            }
            Step::Arrive { .. } => {}
            Step::Claim(name) => drop(self.decide(acquire("other", *name).queue(false))),
            Step::Close => drop(self.decide(close("other"))),
            Step::Evict(name) => drop(self.decide(evict(*name))),
        }
    }

    fn want(&mut self, session: usize, what: What) {
        let sessions = self.wants.iter().filter(|want| matches!(want.what, What::Session(_)));
        let sessions: Vec<u64> = sessions.map(|want| want.number).collect();
        let number = self.last + 1;
        let session = match what {
            What::Session(_) => number,
            _ if sessions.is_empty() => return,
            _ => sessions[session % sessions.len()],
        };
        self.last = number;
        let want = Want { number, session, what };
        self.send(Change::Declare(want.declaration()));
        self.wants.push(want);
    }

    /// Removes what is not wanted any more, with everything in it if it is a session.
    fn forget(&mut self, number: u64) {
        self.wants.retain(|want| want.number != number && want.session != number);
    }

    fn send(&mut self, wish: Change) {
        self.sent.push(change(KIM, self.epoch, [wish]).at(self.home));
    }

    /// The numbers that a change declares which was sent.
    fn declared_in(&self, index: usize) -> Vec<u64> {
        match &self.sent[index] {
            Command::Change { changes, .. } => changes.iter().flat_map(declared_by).collect(),
            _ => Vec::new(),
        }
    }

    fn arrive(&mut self, index: usize, replied: bool) {
        let (command, declared) = (self.sent[index].clone(), self.declared_in(index));
        let Some(absent) = self.decide(command) else { return };
        if replied {
            self.learn(declared, &absent);
        }
    }

    /// The client learns what has become of these numbers.
    fn learn(&mut self, numbers: Vec<u64>, absent: &[(u64, Absence)]) {
        for (number, _) in absent {
            self.absent.insert(*number);
            self.forget(*number);
        }
        self.known.extend(numbers);
        let wants = &self.wants;
        self.known.retain(|number| wants.iter().any(|want| want.number == *number));
    }

    fn connect(&mut self, home: u64, replied: bool) {
        (self.epoch, self.home) = (self.epoch + 1, ServerId(home));
        let (known, declared): (Vec<&Want>, Vec<&Want>) =
            self.wants.iter().partition(|want| self.known.contains(&want.number));
        let known = known.into_iter().map(|want| want.number).collect();
        let declared = declared.into_iter().map(Want::declaration).collect();
        let hello = connect(KIM, self.epoch).at(self.home).known(known).declared(declared);
        let absent = self.decide(hello).expect("a Hello with a higher epoch");
        if replied {
            self.learn(self.wants.iter().map(|want| want.number).collect(), &absent);
        }
    }

    /// Decides a command. Returns what the client does not have, if it is one of the client that is accepted.
    fn decide(&mut self, command: Command) -> Option<Vec<(u64, Absence)>> {
        let outcome = self.table.decide(command, &mut Vec::new());
        self.table.commit();
        let found = self.table.client(KIM).expect("connected");
        let exist: BTreeSet<u64> = found.items.after(0, usize::MAX).into_iter().map(|(number, _)| number).collect();
        self.ended.extend(self.exist.difference(&exist));
        assert!(exist.is_disjoint(&self.ended), "{exist:?} of {:?}", self.ended);
        self.exist = exist;
        match outcome {
            Ok(Outcome::Reconciled { absent, .. }) => Some(absent),
            _ => None,
        }
    }

    /// Asserts that the client has exactly what it wants.
    fn check(&self) {
        let found = self.table.client(KIM).expect("connected");
        let wanted: Vec<u64> = self.wants.iter().map(|want| want.number).collect();
        let items = found.items.after(0, usize::MAX);
        assert_eq!(items.iter().map(|(number, _)| *number).collect::<Vec<u64>>(), wanted);
        for (want, (_, item)) in self.wants.iter().zip(&items) {
            assert!(want.is(item, &self.table), "{want:?}");
        }
    }
}

/// The number that a change declares, each of which declares one thing.
fn declared_by(change: &Change) -> Option<u64> {
    let Change::Declare(Declaration { session, claims, memberships, .. }) = change else { return None };
    let within = claims.first().map(|claim| claim.number);
    Some(within.or(memberships.first().map(|membership| membership.number)).unwrap_or(*session))
}

/// The claims of a lock that hold it, and those that wait for it in order, each by its session and its number.
type Queue = (BTreeSet<(Text, u64)>, Vec<(Text, u64)>);

/// What a client has, by number, and the queues of all locks: without revisions.
#[derive(Debug, PartialEq)]
struct State {
    items: Vec<(u64, String)>,
    locks: Vec<(Text, Queue)>,
}

fn state_of(table: &Table) -> State {
    let described = |item: &Item| match item {
        Item::Claim(claim) => {
            let Claim { spec, state, .. } = table.claim(*claim).expect("a claim");
            format!("{:?} of {}, waits: {}", spec.names, spec.session, *state == ClaimState::Waiting)
        }
        other => format!("{other:?}"),
    };
    let found = table.client(KIM).expect("connected");
    let by = |claim: &Claim| (claim.spec.session.clone(), claim.spec.declared);
    let locks = table.locks_after("", None).map(|(name, lock)| {
        let holders = lock.holders().iter().filter_map(|id| table.claim(*id)).map(by).collect();
        let waiters = lock.waiters().iter().filter_map(|rank| table.claim(rank.1)).map(by).collect();
        (name.clone(), (holders, waiters))
    });
    let items = found.items.after(0, usize::MAX).into_iter().map(|(number, item)| (number, described(&item)));
    State { items: items.collect(), locks: locks.collect() }
}

fn reconcile(table: &mut Table, command: Command) -> Vec<(u64, Absence)> {
    match table.decide(command, &mut Vec::new()) {
        Ok(Outcome::Reconciled { absent, .. }) => absent,
        other => panic!("not reconciled: {other:?}"),
    }
}

/// Whether the claim of this number waits.
fn waits(table: &Table, number: u64) -> bool {
    let found = table.client(KIM).expect("connected");
    let Some(Item::Claim(claim)) = found.items.get(number) else { return false };
    table.claim(claim).is_some_and(|claim| claim.state == ClaimState::Waiting)
}

/// The absent numbers, and whether each was rejected: rejections may state revisions.
fn reasons(absent: Vec<(u64, Absence)>) -> Vec<(u64, bool)> {
    absent.into_iter().map(|(number, absence)| (number, matches!(absence, Absence::Rejected(_)))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, ..ProptestConfig::default() })]

    #[test]
    fn client_has_what_it_wants_after_its_last_hello(
        steps in prop::collection::vec(step(), 1..60),
        home in 1u64..4,
        late in prop::collection::vec(any::<usize>(), 0..20),
    ) {
        let mut world = World::new();
        for step in &steps {
            world.take(step);
        }
        world.connect(home, true);
        world.check();
        // All of them were sent on streams before the last.
        for index in late {
            world.take(&Step::Arrive { index, replied: true });
            world.check();
        }
    }

    #[test]
    fn change_that_arrives_again_on_its_stream_has_no_effect(steps in prop::collection::vec(step(), 1..60)) {
        let mut world = World::new();
        for step in &steps {
            let sent = world.sent.len();
            // A rejected declaration leaves no trace: its number has not been used, and the same may be accepted later.
            let was_rejected = matches!(step, Step::Arrive { index, .. }
                if sent > 0 && world.declared_in(index % sent).iter().any(|number| world.absent.contains(number)));
            if was_rejected {
                continue;
            }
            world.take(step);
            // Each change arrives in order, and then any of them again.
            if world.sent.len() > sent {
                world.arrive(sent, true);
            }
            let mut expected = world.wants.iter().map(|want| want.number).collect::<BTreeSet<_>>();
            expected.retain(|number| !world.ended.contains(number));
            prop_assert_eq!(&world.exist, &expected);
        }
    }

    #[test]
    fn hello_equals_the_changes_that_it_summarizes(
        steps in prop::collection::vec(step(), 1..40),
        forgotten in any::<u16>(),
        more in prop::collection::vec((any::<usize>(), what()), 0..8),
    ) {
        let mut world = World::new();
        steps.iter().for_each(|step| world.take(step));
        world.connect(1, true);
        let before: Vec<u64> = world.exist.iter().copied().collect();
        let is_kept = |number: &u64| forgotten & (1 << (number % 16)) == 0;
        world.wants.retain(|want| is_kept(&want.number));
        let known: Vec<u64> = world.wants.iter().map(|want| want.number).collect();
        more.into_iter().for_each(|(session, what)| world.want(session, what));
        let declared: Vec<Declaration> = world.wants[known.len()..].iter().map(Want::declaration).collect();

        let (mut one, mut other) = (restored(&world.table), restored(&world.table));
        let epoch = world.epoch + 1;
        let mut absent = reconcile(&mut one, connect(KIM, epoch).known(known.clone()).declared(declared.clone()));
        // A known claim may end with its session.
        absent.retain(|(number, _)| !known.contains(number));
        let mut withdrawn: Vec<u64> = before.iter().copied().filter(|number| !known.contains(number)).collect();
        withdrawn.sort_by_key(|number| !waits(&world.table, *number));
        let changes = withdrawn.into_iter().map(Change::Withdraw).chain(declared.into_iter().map(Change::Declare));
        prop_assert_eq!(reconcile(&mut other, connect(KIM, epoch).known(before)), []);
        let changed = changes.flat_map(|wish| reconcile(&mut other, change(KIM, epoch, [wish])));
        prop_assert_eq!(reasons(absent), reasons(changed.collect()));
        prop_assert_eq!(state_of(&one), state_of(&other));
    }

    #[test]
    fn undone_decisions_of_clients_leave_the_table_as_it_was(
        before in prop::collection::vec(clients::step(), 0..40),
        after in prop::collection::vec(clients::step(), 1..20),
    ) {
        let (mut table, mut history): (Table, Vec<Recorded>) = Default::default();
        for step in &before {
            let _ = table.decide(clients::request(step, &table), &mut history);
        }
        table.commit();
        let (same, parts) = (replayed(&history), restored(&table));
        prop_assert_eq!(&same, &table, "replaying the events gives the same table");
        prop_assert_eq!(&parts, &table, "its parts restore the same table");
        let mut undone = Vec::new();
        for step in &after {
            let _ = table.decide(clients::request(step, &table), &mut undone);
        }
        prop_assert!(undone.iter().zip(history.len() as u64 + 1..).all(|(one, at)| one.revision == Revision(at)));
        table.undo();
        prop_assert_eq!(&table, &same);
        clients::check(&table);
    }
}
