//! The naive model: sessions and claims in flat lists. After each change whoever may be served is served, one by one.

use std::collections::BTreeMap;

use tenure_core::{Claim, ClaimState, Command, Outcome, Rejection, Table};

type Holders = BTreeMap<String, String>;
type Waiters = BTreeMap<String, Vec<String>>;

/// The kind of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Open,
    Held,
    Waiting,
    Busy,
    Evicted(usize),
    Done,
    Rejected,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    Waiting,
    Held,
    Lingering(u64),
}

#[derive(Clone, Debug)]
struct Stake {
    /// The id and the token that the table gave: labels, which the model only repeats.
    id: u64,
    token: u64,
    session: String,
    names: Vec<String>,
    priority: i32,
    lingers: bool,
    stand: Stand,
}

#[derive(Default)]
pub struct Naive {
    /// Open sessions and their homes.
    sessions: BTreeMap<String, u64>,
    /// The revisions that opened them: labels as well.
    opened: BTreeMap<String, u64>,
    /// In order of arrival.
    stakes: Vec<Stake>,
}

impl Naive {
    pub fn decide(&mut self, command: &Command, accepted: bool) -> Kind {
        match command {
            Command::OpenSession { session, home, .. } => {
                self.sessions.insert(session.to_string(), home.0);
                Kind::Open
            }
            Command::AttachSession { session, home } => match self.sessions.get_mut(&**session) {
                Some(at) => {
                    *at = home.0;
                    Kind::Open
                }
                None => Kind::Rejected,
            },
            Command::CloseSession { session } => {
                self.end_session(session);
                Kind::Done
            }
            Command::EndSession { session, opened, home, .. } => {
                let current = self.opened.get(&**session) == Some(&opened.0);
                if current && self.sessions.get(&**session) == Some(&home.0) {
                    self.end_session(session);
                }
                Kind::Done
            }
            Command::Acquire { session, opening, home, names, queue, priority, min_hold, .. } => {
                let stake = Stake {
                    id: 0,
                    token: 0,
                    session: session.to_string(),
                    names: names.iter().map(ToString::to_string).collect(),
                    priority: *priority,
                    lingers: !min_hold.is_zero(),
                    stand: Stand::Waiting,
                };
                let kind = self.acquire(session, opening.as_ref().map(|_| home.0), stake, *queue);
                let was_open = self.sessions.contains_key(&**session);
                if kind != Kind::Rejected && (was_open || kind != Kind::Busy) {
                    self.sessions.insert(session.to_string(), home.0);
                }
                kind
            }
            Command::CancelAcquire { session, names } => {
                if !self.sessions.contains_key(&**session) {
                    return Kind::Rejected;
                }
                let same = |stake: &Stake| {
                    stake.session == **session
                        && stake.names.iter().map(String::as_str).eq(names.iter().map(|name| &**name))
                };
                if let Some(place) =
                    self.stakes.iter().position(|stake| same(stake) && !matches!(stake.stand, Stand::Lingering(_)))
                {
                    self.end(place);
                }
                Kind::Done
            }
            Command::EndWait { claim } => match self.place_of(claim.0) {
                Some(place) if self.stakes[place].stand == Stand::Waiting => {
                    self.stakes.remove(place);
                    self.serve();
                    Kind::Busy
                }
                Some(place) if self.stakes[place].stand == Stand::Held => Kind::Held,
                _ => Kind::Done,
            },
            Command::Abandon { claim, home } => {
                if let Some(place) = self.place_of(claim.0) {
                    let stake = &self.stakes[place];
                    let lingering = matches!(stake.stand, Stand::Lingering(_));
                    if !lingering && self.sessions.get(&stake.session) == Some(&home.0) {
                        self.stakes.remove(place);
                        self.serve();
                    }
                }
                Kind::Done
            }
            Command::Release { session, name, token } => {
                // Which tokens are right is for the table to say; what a right one does is checked here.
                if !accepted {
                    return Kind::Rejected;
                }
                let held = |stake: &Stake| {
                    let named = stake.names.iter().any(|held| **held == **name);
                    stake.stand == Stand::Held && stake.session == **session && named && stake.token == token.0
                };
                if let Some(place) = self.stakes.iter().position(held) {
                    self.end(place);
                }
                Kind::Done
            }
            Command::EndLingering { claim, home } => {
                if let Some(place) = self.place_of(claim.0)
                    && self.stakes[place].stand == Stand::Lingering(home.0)
                {
                    self.stakes.remove(place);
                    self.serve();
                }
                Kind::Done
            }
            Command::Evict { name, .. } => {
                let held =
                    |stake: &Stake| stake.stand != Stand::Waiting && stake.names.iter().any(|held| **held == **name);
                match self.stakes.iter().position(held) {
                    Some(place) => {
                        self.stakes.remove(place);
                        self.serve();
                        Kind::Evicted(1)
                    }
                    None => Kind::Evicted(0),
                }
            }
            Command::Group(_) => panic!("groups have a model of their own"),
            Command::Adopt { dead, by } => {
                for home in self.sessions.values_mut().filter(|home| **home == dead.0) {
                    *home = by.0;
                }
                for stake in &mut self.stakes {
                    if stake.stand == Stand::Lingering(dead.0) {
                        stake.stand = Stand::Lingering(by.0);
                    }
                }
                Kind::Done
            }
        }
    }
}

impl Naive {
    /// Learns the labels that the table gave.
    pub fn learn(&mut self, table: &Table) {
        self.opened = self
            .sessions
            .keys()
            .map(|id| (id.clone(), table.session(id).expect("a session that the model has open").opened.0))
            .collect();
        for stake in &mut self.stakes {
            let lingering = matches!(stake.stand, Stand::Lingering(_));
            let same = |claim: &&Claim| {
                *claim.spec.session == *stake.session
                    && names_of(claim) == stake.names
                    && matches!(claim.state, ClaimState::Lingering { .. }) == lingering
            };
            let claim = table.claims().find(same).expect("a claim that the model has");
            stake.id = claim.id.0;
            stake.token = claim.token().map_or(0, |token| token.0);
        }
    }

    fn acquire(&mut self, session: &str, home: Option<u64>, stake: Stake, queue: bool) -> Kind {
        let own = |other: &&Stake| other.session == session && !matches!(other.stand, Stand::Lingering(_));
        let overlaps = |other: &&Stake| other.names.iter().any(|name| stake.names.contains(name));
        let existing = self.stakes.iter().filter(own).find(overlaps);
        if !self.sessions.contains_key(session) && home.is_none() {
            return Kind::Rejected;
        }
        if let Some(existing) = existing {
            if existing.names != stake.names {
                return Kind::Rejected;
            }
            let kind = if existing.stand == Stand::Held { Kind::Held } else { Kind::Waiting };
            return kind;
        }
        self.stakes.push(stake);
        self.serve();
        let last = self.stakes.last().expect("just pushed");
        if last.stand == Stand::Held {
            return Kind::Held;
        }
        if queue {
            return Kind::Waiting;
        }
        self.stakes.pop();
        Kind::Busy
    }

    fn place_of(&self, id: u64) -> Option<usize> {
        self.stakes.iter().position(|stake| stake.id == id)
    }

    /// Ends a claim of an open session: it is gone, or lingers if it is held with a minimum.
    fn end(&mut self, place: usize) {
        let home = self.sessions[&self.stakes[place].session];
        if self.stakes[place].stand == Stand::Held && self.stakes[place].lingers {
            self.stakes[place].stand = Stand::Lingering(home);
        } else {
            self.stakes.remove(place);
        }
        self.serve();
    }

    fn end_session(&mut self, session: &str) {
        let Some(home) = self.sessions.get(session).copied() else { return };
        let own = |stake: &Stake| stake.session == session && !matches!(stake.stand, Stand::Lingering(_));
        for stake in self.stakes.iter_mut().filter(|stake| own(stake) && stake.stand == Stand::Held && stake.lingers) {
            stake.stand = Stand::Lingering(home);
        }
        self.stakes.retain(|stake| !own(stake));
        self.sessions.remove(session);
        self.serve();
    }

    /// The one rule: a claim is served if nobody has any of its names, and nobody who goes first waits for any of them.
    fn serve(&mut self) {
        let goes_first = |one: usize, other: usize, stakes: &[Stake]| {
            (-stakes[one].priority, one) < (-stakes[other].priority, other)
        };
        while let Some(next) = (0..self.stakes.len()).find(|&place| {
            self.stakes[place].stand == Stand::Waiting
                && !(0..self.stakes.len()).any(|other| {
                    let in_the_way =
                        self.stakes[other].stand != Stand::Waiting || goes_first(other, place, &self.stakes);
                    other != place
                        && in_the_way
                        && self.stakes[other].names.iter().any(|name| self.stakes[place].names.contains(name))
                })
        }) {
            self.stakes[next].stand = Stand::Held;
        }
    }

    pub fn holders(&self) -> Holders {
        let held = self.stakes.iter().filter(|stake| stake.stand != Stand::Waiting);
        held.flat_map(|stake| stake.names.iter().map(|name| (name.clone(), stake.session.clone()))).collect()
    }

    pub fn waiters(&self) -> Waiters {
        let mut waiting: Vec<&Stake> = self.stakes.iter().filter(|stake| stake.stand == Stand::Waiting).collect();
        waiting.sort_by_key(|stake| -stake.priority);
        let mut waiters = Waiters::new();
        for stake in waiting {
            for name in &stake.names {
                waiters.entry(name.clone()).or_default().push(stake.session.clone());
            }
        }
        waiters
    }
}

fn names_of(claim: &Claim) -> Vec<String> {
    claim.spec.names.iter().map(ToString::to_string).collect()
}

pub fn holders_of(table: &Table) -> Holders {
    let held = |claim: &&Claim| claim.state != ClaimState::Waiting;
    let claims = table.claims().filter(held);
    claims.flat_map(|claim| names_of(claim).into_iter().map(|name| (name, claim.spec.session.to_string()))).collect()
}

pub fn waiters_of(table: &Table) -> Waiters {
    let mut waiters = Waiters::new();
    for (name, lock) in table.locks_after("", None) {
        for rank in &lock.waiters {
            let claim = table.claim(rank.1).expect("a waiter is a claim");
            waiters.entry(name.to_string()).or_default().push(claim.spec.session.to_string());
        }
    }
    waiters
}

pub fn kind_of(outcome: &Result<Outcome, Rejection>) -> Kind {
    match outcome {
        Ok(Outcome::Open { .. }) => Kind::Open,
        Ok(Outcome::Held { .. }) => Kind::Held,
        Ok(Outcome::Waiting { .. }) => Kind::Waiting,
        Ok(Outcome::Busy { .. }) => Kind::Busy,
        Ok(Outcome::Evicted(claims)) => Kind::Evicted(claims.len()),
        Ok(Outcome::Done | Outcome::Group(_)) => Kind::Done,
        Err(_) => Kind::Rejected,
    }
}
