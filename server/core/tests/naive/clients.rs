//! Clients in the naive model. What a client has is found by a search through the sessions, claims and memberships.

use std::collections::BTreeMap;

use tenure_core::{
    Absence, Acquire, Actor, Change, Command, Declaration, DeclaredClaim, DeclaredMembership, Hello, Item, Table,
};

use super::{Kind, Naive, Stake, State};

/// Why a client does not have something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lack {
    Ended,
    Busy,
    Rejected,
}

impl Lack {
    pub fn of(absence: &Absence) -> Self {
        match absence {
            Absence::Ended(_) => Self::Ended,
            Absence::Busy { .. } => Self::Busy,
            Absence::Rejected(_) => Self::Rejected,
        }
    }
}

#[derive(Clone, Debug)]
pub struct NaiveClient {
    id: String,
    epoch: u64,
    pub home: u64,
    identity: Option<String>,
    /// The highest number of anything that it has had.
    last: u64,
}

impl NaiveClient {
    /// Whether both identities are known and differ.
    fn is_of_another(&self, identity: Option<&str>) -> bool {
        self.identity.as_deref().zip(identity).is_some_and(|(own, other)| own != other)
    }
}

/// An open session that was declared.
#[derive(Clone, Debug)]
pub struct Declared {
    pub session: String,
    client: String,
    number: u64,
    identity: Option<String>,
}

#[derive(Clone, Debug)]
pub struct NaiveMembership {
    pub session: String,
    group: String,
    number: u64,
}

/// What a client has by a number.
enum Thing {
    /// The session of this id.
    Session(String),
    /// The claim at this index.
    Claim(usize),
    /// The membership at this index.
    Membership(usize),
}

/// The client whose changes are made.
struct By<'a> {
    client: &'a str,
    identity: Option<String>,
    actor: Option<&'a Actor>,
}

/// The epoch, home and highest number of each client, and what it has.
pub type Clients = BTreeMap<String, (u64, u64, u64, Vec<(u64, String)>)>;

pub fn clients_of(table: &Table) -> Clients {
    let described = |item: Item| match item {
        Item::Session(id) => format!("session {id}"),
        Item::Claim(id) => format!("claim {id}"),
        Item::Membership(of) => format!("membership of {} in {}", of.session, of.group),
    };
    let clients = table.clients().map(|client| {
        let items =
            client.items.after(0, usize::MAX).into_iter().map(|(number, item)| (number, described(item))).collect();
        (client.id.to_string(), (client.epoch, client.home.0, client.last, items))
    });
    clients.collect()
}

impl Naive {
    pub fn clients(&self) -> Clients {
        let described = |thing| match thing {
            Thing::Session(id) => format!("session {id}"),
            Thing::Claim(index) => format!("claim {}", self.stakes[index].id),
            Thing::Membership(index) => {
                let NaiveMembership { session, group, .. } = &self.memberships[index];
                format!("membership of {session} in {group}")
            }
        };
        let clients = self.clients.iter().map(|client| {
            let items = self.numbers(&client.id).into_iter();
            let items = items.filter_map(|number| Some((number, described(self.thing(&client.id, number)?))));
            (client.id.clone(), (client.epoch, client.home, client.last, items.collect()))
        });
        clients.collect()
    }

    /// The number of memberships in the namespace, and of groups that have any.
    pub fn members(&self) -> (usize, usize) {
        let mut groups: Vec<&String> = self.memberships.iter().map(|membership| &membership.group).collect();
        groups.sort();
        groups.dedup();
        (self.memberships.len(), groups.len())
    }

    /// A client alone changes what is in the sessions that it has declared.
    pub(super) fn is_call_on_declared(&self, command: &Command) -> bool {
        let session = match command {
            Command::OpenSession { session, .. }
            | Command::MoveSession { session, .. }
            | Command::Acquire(Acquire { session, .. })
            | Command::CancelAcquire { session, .. } => session,
            _ => return false,
        };
        self.declared.iter().any(|declared| declared.session == **session)
    }

    /// The client that a session belongs to.
    fn declarer(&self, session: &str) -> Option<&str> {
        let declared = self.declared.iter().find(|declared| declared.session == session)?;
        Some(&declared.client)
    }

    /// What a client has by this number.
    fn thing(&self, client: &str, number: u64) -> Option<Thing> {
        let session = self.declared.iter().find(|declared| declared.client == client && declared.number == number);
        let claim = self.stakes.iter().position(|stake| {
            stake.number == number
                && !matches!(stake.state, State::Lingering(_))
                && self.declarer(&stake.session) == Some(client)
        });
        let membership = self
            .memberships
            .iter()
            .position(|membership| membership.number == number && self.declarer(&membership.session) == Some(client));
        let session = session.map(|declared| Thing::Session(declared.session.clone()));
        session.or(claim.map(Thing::Claim)).or(membership.map(Thing::Membership))
    }

    /// The numbers of everything that a client has, in order.
    fn numbers(&self, client: &str) -> Vec<u64> {
        let sessions = self.declared.iter().map(|declared| declared.number);
        let claims = self.stakes.iter().map(|stake| stake.number);
        let memberships = self.memberships.iter().map(|membership| membership.number);
        let mut numbers: Vec<u64> = sessions.chain(claims).chain(memberships).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.retain(|number| *number > 0 && self.thing(client, *number).is_some());
        numbers
    }

    pub(super) fn connect(&mut self, hello: &Hello, actor: Option<&Actor>) -> Kind {
        let id = hello.client.to_string();
        let identity = hello.identity.as_ref().map(ToString::to_string);
        match self.clients.iter_mut().find(|client| client.id == id) {
            Some(client) => {
                if client.is_of_another(identity.as_deref()) || hello.epoch <= client.epoch {
                    return Kind::Rejected;
                }
                (client.epoch, client.home) = (hello.epoch, hello.home.0);
            }
            None if self.ended.iter().any(|(ended, at)| *ended == id && *at > hello.received.0) => {
                return Kind::Rejected;
            }
            None => {
                let (epoch, home) = (hello.epoch, hello.home.0);
                self.clients.push(NaiveClient { id: id.clone(), epoch, home, identity, last: 0 });
            }
        }
        for declared in self.declared.iter().filter(|declared| declared.client == id) {
            self.sessions.insert(declared.session.clone(), hello.home.0);
        }
        self.withdraw_unwanted(&id, hello);
        let mut lacks: Vec<(u64, Lack)> = Vec::new();
        for number in &hello.known {
            if self.thing(&id, *number).is_none() {
                lacks.push((*number, Lack::Ended));
            }
        }
        self.grant_anew(&id);
        for declaration in &hello.declared {
            self.declare(&self.by(&id, actor), declaration, &mut lacks);
        }
        lacks.sort();
        Kind::Reconciled(lacks)
    }

    pub(super) fn change(
        &mut self,
        client: &str,
        stream: (u64, u64),
        changes: &[Change],
        actor: Option<&Actor>,
    ) -> Kind {
        let identity = actor.map(|actor| &*actor.identity);
        let of_another = self.clients.iter().any(|found| found.id == client && found.is_of_another(identity));
        if of_another || !self.is_connected(client, stream) {
            return Kind::Rejected;
        }
        let mut lacks = Vec::new();
        for change in changes {
            match change {
                Change::Declare(declaration) => self.declare(&self.by(client, actor), declaration, &mut lacks),
                Change::Withdraw(number) => self.withdraw(client, *number),
            }
        }
        lacks.sort();
        Kind::Reconciled(lacks)
    }

    /// Ends what waits, and what was granted after `since`, at once.
    pub(super) fn abandon_client(&mut self, client: &str, stream: (u64, u64), since: u64) {
        if !self.is_connected(client, stream) {
            return;
        }
        for number in self.numbers(client) {
            if let Some(Thing::Claim(index)) = self.thing(client, number)
                && (self.stakes[index].state == State::Waiting || self.stakes[index].token > since)
            {
                self.stakes.remove(index);
            }
        }
        self.serve();
    }

    pub(super) fn end_client(&mut self, client: &str, stream: (u64, u64)) {
        if self.is_connected(client, stream) && self.numbers(client).is_empty() {
            self.clients.retain(|other| other.id != client);
            self.ended.push((client.to_owned(), 0));
        }
    }

    fn is_connected(&self, client: &str, stream: (u64, u64)) -> bool {
        self.clients.iter().any(|found| found.id == client && (found.epoch, found.home) == stream)
    }

    /// Sessions belong to the identity of the caller, or else to that of the client.
    fn by<'a>(&self, client: &'a str, actor: Option<&'a Actor>) -> By<'a> {
        let of_client = self.clients.iter().find(|found| found.id == client).and_then(|found| found.identity.clone());
        By { client, identity: actor.map(|actor| actor.identity.to_string()).or(of_client), actor }
    }

    /// Waits end before anything else, so that they cannot be granted.
    fn withdraw_unwanted(&mut self, client: &str, hello: &Hello) {
        let mut unwanted = self.numbers(client);
        for declaration in &hello.declared {
            unwanted.retain(|number| !all_numbers(declaration).contains(number));
        }
        unwanted.retain(|number| !hello.known.contains(number));
        for number in &unwanted {
            if let Some(Thing::Claim(index)) = self.thing(client, *number)
                && self.stakes[index].state == State::Waiting
            {
                self.stakes.remove(index);
            }
        }
        self.serve();
        for number in unwanted {
            self.withdraw(client, number);
        }
    }

    fn withdraw(&mut self, client: &str, number: u64) {
        match self.thing(client, number) {
            Some(Thing::Session(session)) => {
                let asked = |stake: &Stake| stake.session == session && stake.pending.is_some();
                while let Some(index) = self.stakes.iter().position(asked) {
                    self.hand_over(index, self.stakes[index].pending.unwrap_or(0));
                }
                self.closed.push(session.clone());
                self.end_session(&session);
            }
            Some(Thing::Claim(index)) => match self.stakes[index].pending {
                Some(named) => self.hand_over(index, named),
                None => self.end(index),
            },
            Some(Thing::Membership(index)) => drop(self.memberships.remove(index)),
            None => {}
        }
    }

    /// Grants anew what was granted before the database lost history: a new claim in place of the old one.
    fn grant_anew(&mut self, client: &str) {
        for number in self.numbers(client) {
            if let Some(Thing::Claim(index)) = self.thing(client, number)
                && self.stakes[index].stale
            {
                let stake = self.stakes.remove(index);
                self.stakes.push(Stake { id: 0, stale: false, pending: None, ..stake });
            }
        }
    }

    fn declare(&mut self, by: &By, declaration: &Declaration, lacks: &mut Vec<(u64, Lack)>) {
        let before = self.clone();
        let is_new = self.thing(by.client, declaration.session).is_none();
        let session = match self.declare_session(by, declaration) {
            Ok(session) => session,
            Err(lack) => {
                lacks.extend(all_numbers(declaration).into_iter().map(|number| (number, lack)));
                return;
            }
        };
        let mut own = Vec::new();
        for claim in &declaration.claims {
            let result = self.declare_claim(by, &session, claim);
            own.extend(result.err().map(|lack| (claim.number, lack)));
        }
        for membership in &declaration.memberships {
            let result = self.declare_membership(by, &session, membership);
            own.extend(result.err().map(|lack| (membership.number, lack)));
        }
        if is_new && own.iter().any(|(_, lack)| *lack == Lack::Busy) {
            *self = before;
            own = all_numbers(declaration).into_iter().map(|number| (number, Lack::Busy)).collect();
        }
        lacks.extend(own);
    }

    fn declare_session(&mut self, by: &By, declaration: &Declaration) -> Result<String, Lack> {
        if let Some(Thing::Session(session)) = self.thing(by.client, declaration.session) {
            return Ok(session);
        }
        self.check_unused(by, declaration.session)?;
        let opening = declaration.opening.as_ref().ok_or(Lack::Ended)?;
        let session = opening.id.to_string();
        if self.sessions.contains_key(&session) {
            return Err(Lack::Rejected);
        }
        let limits = by.actor.map(|actor| actor.limits).unwrap_or_default();
        check(self.declared.iter().filter(|other| is_of(other, by)).count(), limits.sessions)?;
        let client = self.use_number(by, declaration.session);
        let (home, client) = (client.home, client.id.clone());
        self.sessions.insert(session.clone(), home);
        let (number, identity) = (declaration.session, by.identity.clone());
        self.declared.push(Declared { session: session.clone(), client, number, identity });
        Ok(session)
    }

    fn declare_claim(&mut self, by: &By, session: &str, claim: &DeclaredClaim) -> Result<(), Lack> {
        if let Some(Thing::Claim(_)) = self.thing(by.client, claim.number) {
            return Ok(());
        }
        self.check_unused(by, claim.number)?;
        let names: Vec<String> = claim.names.iter().map(ToString::to_string).collect();
        let mode = self.mode(&names, claim.mode).ok_or(Lack::Rejected)?;
        let limits = by.actor.map(|actor| actor.limits).unwrap_or_default();
        let (claims, waiters) = self.claims_of(by);
        self.stakes.push(Stake {
            id: 0,
            token: 0,
            number: claim.number,
            session: session.to_owned(),
            names,
            mode,
            priority: claim.priority,
            lingers: !claim.min_hold.is_zero(),
            state: State::Waiting,
            pending: None,
            awaited: None,
            stale: false,
        });
        let waits = !self.can_be_served(self.stakes.len() - 1, None);
        let checked = match waits {
            true if !claim.queue => Err(Lack::Busy),
            true => check(claims, limits.claims).and(check(waiters, limits.waiters)),
            false => check(claims, limits.claims),
        };
        if checked.is_err() {
            self.stakes.pop();
            return checked;
        }
        self.use_number(by, claim.number);
        self.serve();
        Ok(())
    }

    fn declare_membership(&mut self, by: &By, session: &str, declared: &DeclaredMembership) -> Result<(), Lack> {
        if let Some(Thing::Membership(_)) = self.thing(by.client, declared.number) {
            return Ok(());
        }
        self.check_unused(by, declared.number)?;
        let same = |other: &NaiveMembership| other.session == session && *other.group == *declared.group;
        if self.memberships.iter().any(same) {
            return Err(Lack::Rejected);
        }
        let limits = by.actor.map(|actor| actor.limits).unwrap_or_default();
        let has = self.memberships.iter().filter(|other| self.is_in_session_of(&other.session, by)).count();
        check(has, limits.memberships)?;
        self.use_number(by, declared.number);
        let (group, number) = (declared.group.to_string(), declared.number);
        self.memberships.push(NaiveMembership { session: session.to_owned(), group, number });
        Ok(())
    }

    /// A number that stands for something else, or did, cannot be used.
    fn check_unused(&self, by: &By, number: u64) -> Result<(), Lack> {
        let unused = |client: &NaiveClient| client.id == by.client && client.last < number;
        if self.clients.iter().any(unused) { Ok(()) } else { Err(Lack::Ended) }
    }

    fn use_number(&mut self, by: &By, number: u64) -> &NaiveClient {
        let client = self.clients.iter_mut().find(|client| client.id == by.client).expect("a connected client");
        client.last = number;
        client
    }

    /// The numbers of claims and of waiting ones that the caller's identity has.
    fn claims_of(&self, by: &By) -> (usize, usize) {
        let lives = |stake: &&Stake| !matches!(stake.state, State::Lingering(_));
        let own = self.stakes.iter().filter(lives).filter(|stake| self.is_in_session_of(&stake.session, by));
        let own: Vec<&Stake> = own.collect();
        (own.len(), own.iter().filter(|stake| stake.state == State::Waiting).count())
    }

    fn is_in_session_of(&self, session: &str, by: &By) -> bool {
        self.declared.iter().any(|declared| declared.session == session && is_of(declared, by))
    }
}

/// Whether a session counts for the caller's limits.
fn is_of(declared: &Declared, by: &By) -> bool {
    by.actor.is_some_and(|actor| declared.identity.as_deref() == Some(&*actor.identity))
}

fn check(has: usize, limit: Option<u32>) -> Result<(), Lack> {
    if limit.is_some_and(|limit| has >= limit as usize) { Err(Lack::Rejected) } else { Ok(()) }
}

fn all_numbers(declaration: &Declaration) -> Vec<u64> {
    let mut numbers = vec![declaration.session];
    numbers.extend(declaration.claims.iter().map(|claim| claim.number));
    numbers.extend(declaration.memberships.iter().map(|membership| membership.number));
    numbers
}
