//! Random commands of clients, and the invariants of clients.

use proptest::prelude::*;
use tenure_core::testing::{Build, abandon_client, at, change, connect, declaration, declared_claim, end_client};
use tenure_core::{
    AskedMode, Change, Claim, Command, Declaration, DeclaredClaim, Item, Limits, Request, Revision, ServerId, Table,
    Text,
};

use super::{mode, names, session_id};

/// A command of a client, whose numbers are chosen by what the client has.
#[derive(Clone, Debug)]
pub enum ClientStep {
    Connect {
        client: u8,
        epoch: Epoch,
        home: u64,
        /// Which of the client's items it knows: those whose bits are set.
        known: u16,
        /// A further number that it claims to know.
        other: Option<Number>,
        declared: Vec<Part>,
        /// The revision of receipt, as an index from the start.
        received: Option<usize>,
        by: Option<By>,
    },
    Change {
        client: u8,
        stream: Stream,
        changes: Vec<Wish>,
        by: Option<By>,
    },
    Abandon {
        client: u8,
        stream: Stream,
        since: usize,
    },
    End {
        client: u8,
        stream: Stream,
    },
}

#[derive(Clone, Copy, Debug)]
pub enum Epoch {
    Next,
    Equal,
    Stale,
}

#[derive(Clone, Copy, Debug)]
pub enum Stream {
    Current,
    OfOtherEpoch,
    AtOtherHome,
}

/// The caller of a client's command.
#[derive(Clone, Copy, Debug)]
pub struct By {
    is_other: bool,
    is_limited: bool,
}

#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// Greater than all before by this much.
    New(u64),
    /// Of something that the client has or had.
    Used(usize),
    /// Of something that the client has.
    Live(usize),
}

#[derive(Clone, Debug)]
pub enum Wish {
    Declare(Part),
    Withdraw(Number),
}

/// A declaration.
#[derive(Clone, Debug)]
pub struct Part {
    /// The index of an open session of the client, or a number.
    session: Result<usize, Number>,
    opens: Option<u8>,
    claims: Vec<(Number, Wanted)>,
    memberships: Vec<(Number, u8)>,
}

#[derive(Clone, Debug)]
struct Wanted {
    names: u8,
    mode: AskedMode,
    queue: bool,
    priority: i32,
    lingers: bool,
}

fn number() -> impl Strategy<Value = Number> {
    prop_oneof![
        10 => (1u64..3).prop_map(Number::New),
        1 => any::<usize>().prop_map(Number::Used),
        1 => any::<usize>().prop_map(Number::Live),
    ]
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let rest = (prop::bool::weighted(0.7), -1i32..2, prop::bool::weighted(0.15));
    (1u8..8, mode(), rest).prop_map(|(names, mode, (queue, priority, lingers))| Wanted {
        names,
        mode,
        queue,
        priority,
        lingers,
    })
}

fn part() -> impl Strategy<Value = Part> {
    let opened = prop_oneof![
        (number(), prop::option::weighted(0.9, 0u8..4)).prop_map(|(session, opens)| (Err(session), opens)),
        (any::<usize>(), prop::option::weighted(0.1, 0u8..4)).prop_map(|(session, opens)| (Ok(session), opens)),
    ];
    let claims = prop::collection::vec((number(), wanted()), 0..4);
    let memberships = prop::collection::vec((number(), 0u8..2), 0..2);
    (opened, claims, memberships).prop_map(|((session, opens), claims, memberships)| Part {
        session,
        opens,
        claims,
        memberships,
    })
}

fn by() -> impl Strategy<Value = Option<By>> {
    let by = (prop::bool::weighted(0.1), any::<bool>()).prop_map(|(is_other, is_limited)| By { is_other, is_limited });
    prop::option::of(by)
}

fn stream() -> impl Strategy<Value = Stream> {
    prop_oneof![10 => Just(Stream::Current), 1 => Just(Stream::OfOtherEpoch), 1 => Just(Stream::AtOtherHome)]
}

pub fn step() -> impl Strategy<Value = ClientStep> {
    let client = 0u8..3;
    let epoch = prop_oneof![8 => Just(Epoch::Next), 1 => Just(Epoch::Equal), 1 => Just(Epoch::Stale)];
    let known = prop_oneof![Just(u16::MAX), any::<u16>()];
    let live = prop_oneof![any::<usize>().prop_map(Number::Live), any::<usize>().prop_map(Number::Used)];
    let wish = prop_oneof![3 => part().prop_map(Wish::Declare), 2 => live.prop_map(Wish::Withdraw)];
    let declared = prop::collection::vec(part(), 0..3);
    let hello = (epoch, 1u64..4, known, prop::option::weighted(0.2, number()), declared);
    prop_oneof![
        5 => (client.clone(), hello, prop::option::weighted(0.2, any::<usize>()), by()).prop_map(
            |(client, (epoch, home, known, other, declared), received, by)| {
                ClientStep::Connect { client, epoch, home, known, other, declared, received, by }
            }
        ),
        8 => (client.clone(), stream(), prop::collection::vec(wish, 1..4), by())
            .prop_map(|(client, stream, changes, by)| ClientStep::Change { client, stream, changes, by }),
        1 => (client.clone(), stream(), any::<usize>())
            .prop_map(|(client, stream, since)| ClientStep::Abandon { client, stream, since }),
        1 => (client, stream()).prop_map(|(client, stream)| ClientStep::End { client, stream }),
    ]
}

/// The numbers that a client has and may use.
struct Numbers {
    live: Vec<u64>,
    last: u64,
    sessions: Vec<u64>,
}

impl Numbers {
    fn of(client: &Text, table: &Table) -> Self {
        let Some(found) = table.client(client) else {
            return Self { live: Vec::new(), last: 0, sessions: Vec::new() };
        };
        let items = found.items.after(0, usize::MAX);
        let sessions = items.iter().filter(|(_, item)| matches!(item, Item::Session(_)));
        let sessions = sessions.map(|(number, _)| *number).collect();
        Self { live: items.iter().map(|(number, _)| *number).collect(), last: found.last, sessions }
    }

    fn choose(&mut self, number: Number) -> u64 {
        match number {
            Number::Live(index) if !self.live.is_empty() => self.live[index % self.live.len()],
            Number::Used(index) if self.last > 0 => 1 + index as u64 % self.last,
            Number::New(more) => {
                self.last += more;
                self.last
            }
            Number::Live(_) | Number::Used(_) => self.choose(Number::New(1)),
        }
    }

    fn declaration(&mut self, part: &Part) -> Declaration {
        let session = match part.session {
            Ok(index) if !self.sessions.is_empty() => self.sessions[index % self.sessions.len()],
            Ok(_) => self.choose(Number::New(1)),
            Err(number) => self.choose(number),
        };
        let mut declaration = declaration(session);
        if let Some(id) = part.opens {
            declaration = declaration.opens(session_id(id));
        }
        for (number, wanted) in &part.claims {
            declaration = declaration.claims(wanted.claim(self.choose(*number)));
        }
        for (number, group) in &part.memberships {
            declaration = declaration.joins(self.choose(*number), ["g", "h"][usize::from(*group)]);
        }
        declaration
    }

    fn change(&mut self, wish: &Wish) -> Change {
        match wish {
            Wish::Declare(part) => Change::Declare(self.declaration(part)),
            Wish::Withdraw(number) => Change::Withdraw(self.choose(*number)),
        }
    }
}

impl Wanted {
    fn claim(&self, number: u64) -> DeclaredClaim {
        let Self { names: bits, mode, queue, priority, lingers } = *self;
        let min_hold = at(u64::from(lingers));
        DeclaredClaim { mode, queue, priority, min_hold, ..declared_claim(number, names(bits)) }
    }
}

fn client_id(client: u8) -> Text {
    Text::from(["kim", "lee", "max"][usize::from(client)])
}

/// The first and the last client are of the same identity, and share its limits.
fn by_identity(command: Command, client: u8, by: Option<By>) -> Request {
    let identity = |By { is_other, .. }: By| if (client == 1) == is_other { "token:ann" } else { "token:bob" };
    let tight = Limits { sessions: Some(2), claims: Some(3), waiters: Some(2), memberships: Some(1) };
    let limits = if by.is_some_and(|by| by.is_limited) { tight } else { Limits::default() };
    command.by(by.map(|by| Text::from(identity(by))).as_ref(), limits)
}

/// The epoch and the home of a client's stream, as the command states them.
fn on_stream(client: &Text, stream: Stream, table: &Table) -> (u64, ServerId) {
    let (epoch, home) = table.client(client).map_or((1, ServerId(1)), |found| (found.epoch, found.home));
    match stream {
        Stream::Current => (epoch, home),
        Stream::OfOtherEpoch => (epoch - 1, home),
        Stream::AtOtherHome => (epoch, ServerId(home.0 % 3 + 1)),
    }
}

pub fn request(step: &ClientStep, table: &Table) -> Request {
    match step {
        ClientStep::Connect { client, epoch, home, known, other, declared, received, by } => {
            let id = client_id(*client);
            let mut numbers = Numbers::of(&id, table);
            let bits = numbers.live.iter().zip(0..).filter(|(_, bit)| known & (1 << (bit % 16)) != 0);
            let mut known: Vec<u64> = bits.map(|(number, _)| *number).collect();
            known.extend(other.map(|number| numbers.choose(number)).filter(|number| !known.contains(number)));
            let declared: Vec<Declaration> = declared.iter().map(|part| numbers.declaration(part)).collect();
            let last = table.client(&id).map_or(0, |found| found.epoch);
            let epoch = match epoch {
                Epoch::Next => last + 1,
                Epoch::Equal => last.max(1),
                Epoch::Stale => last.saturating_sub(1).max(1),
            };
            let now = table.revision().0;
            let received = received.map_or(now, |index| index as u64 % (now + 1));
            let command = connect(id, epoch).at(ServerId(*home)).known(known).declared(declared);
            by_identity(command.received(Revision(received)), *client, *by)
        }
        ClientStep::Change { client, stream, changes, by } => {
            let id = client_id(*client);
            let (epoch, home) = on_stream(&id, *stream, table);
            let mut numbers = Numbers::of(&id, table);
            let changes: Vec<Change> = changes.iter().map(|wish| numbers.change(wish)).collect();
            by_identity(change(id, epoch, changes).at(home), *client, *by)
        }
        ClientStep::Abandon { client, stream, since } => {
            let id = client_id(*client);
            let (epoch, home) = on_stream(&id, *stream, table);
            let since = Revision(*since as u64 % (table.revision().0 + 1));
            abandon_client(id, epoch, since).at(home).into()
        }
        ClientStep::End { client, stream } => {
            let id = client_id(*client);
            let (epoch, home) = on_stream(&id, *stream, table);
            end_client(id, epoch).at(home).into()
        }
    }
}

/// Checks that each client has exactly what was declared by it, by a number that it has used.
pub fn check(table: &Table) {
    let mut count = 0;
    for client in table.clients() {
        for (number, item) in client.items.after(0, usize::MAX) {
            count += 1;
            assert!(number <= client.last);
            let session = match item {
                Item::Session(id) => id,
                Item::Claim(id) => table.claim(id).expect("a claim").spec.session.clone(),
                Item::Membership(of) => of.session.clone(),
            };
            let spec = &table.session(&session).expect("open").spec;
            assert_eq!((spec.client.as_ref(), spec.home), (Some(&client.id), client.home));
        }
    }
    let sessions = table.sessions_after(Revision(0)).filter(|session| session.spec.declared > 0).count();
    let lives = |claim: &&Claim| claim.spec.declared > 0 && !claim.lingers();
    let memberships: usize = table.groups_after("", None).map(|group| group.members.len()).sum();
    assert_eq!(count, sessions + table.claims().filter(lives).count() + memberships);
}
