//! The naive model: sessions and claims in flat lists. After each change, all claims that can be served are served, one
//! by one.

mod clients;
mod handoff;
mod view;

use std::collections::BTreeMap;

use clients::{Declared, NaiveClient, NaiveMembership};
pub use clients::{Lack, clients_of};
use tenure_core::{Acquire, AskedMode, Claim, Command, Mode, Request, Revision};
pub use view::{holders_of, homes_of, kind_of, pending_of, waiters_of};

/// The kind of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    Open,
    Held,
    Waiting,
    Busy,
    Evicted(usize),
    Transferring,
    Transferred,
    Updated,
    /// What the client does not have, sorted.
    Reconciled(Vec<(u64, Lack)>),
    Done,
    Rejected,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Held,
    Lingering(u64),
}

#[derive(Clone, Debug)]
struct Stake {
    /// The id and the token that the table assigned: labels, which the model only repeats. 0: not known yet.
    id: u64,
    token: u64,
    /// The number by which it was declared; 0: it was requested by a call.
    number: u64,
    session: String,
    names: Vec<String>,
    mode: Mode,
    priority: i32,
    lingers: bool,
    state: State,
    /// The successor of a pending transfer: the id of a claim, or 0 for the best.
    pending: Option<u64>,
    /// The server with the call that awaits it.
    awaited: Option<u64>,
    /// Whether it was granted before the database lost history.
    stale: bool,
}

#[derive(Clone, Default)]
pub struct Naive {
    /// Open sessions and their homes.
    sessions: BTreeMap<String, u64>,
    /// The revisions that opened them: labels as well.
    opened: BTreeMap<String, u64>,
    /// In order of arrival.
    stakes: Vec<Stake>,
    /// Limits that were set, and the locks on which preemption is allowed.
    limits: BTreeMap<String, u32>,
    preemptive: Vec<String>,
    /// All cancels by sessions, and all sessions ever closed.
    cancelled: Vec<(String, Vec<String>)>,
    closed: Vec<String>,
    clients: Vec<NaiveClient>,
    /// The open sessions that were declared.
    declared: Vec<Declared>,
    memberships: Vec<NaiveMembership>,
    /// All clients that have ended, and the revisions of their ends: labels as well.
    ended: Vec<(String, u64)>,
}

impl Naive {
    pub fn decide(&mut self, request: &Request, accepted: bool) -> Kind {
        let Request { actor, command } = request;
        if self.is_call_on_declared(command) {
            return Kind::Rejected;
        }
        match command {
            Command::MoveSession { session, .. } if !self.sessions.contains_key(&**session) => Kind::Rejected,
            Command::OpenSession { session, home, .. } | Command::MoveSession { session, home } => {
                self.sessions.insert(session.to_string(), home.0);
                Kind::Open
            }
            Command::CloseSession { session, .. } => {
                if self.sessions.contains_key(&**session) {
                    self.closed.push(session.to_string());
                }
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
            Command::Acquire(Acquire {
                session,
                opening,
                home,
                names,
                mode,
                queue,
                priority,
                min_hold,
                received,
                ..
            }) => {
                let names_asked: Vec<String> = names.iter().map(ToString::to_string).collect();
                if *received == Revision(0) && self.rejects_late(session, &names_asked, opening.is_some()) {
                    return Kind::Rejected;
                }
                let known = self.own(session, &names_asked);
                let mode = match (known, self.mode(&names_asked, *mode)) {
                    (Some(known), _) if same_mode(*mode, known) => known,
                    (_, Some(mode)) => mode,
                    (_, None) => return Kind::Rejected,
                };
                let stake = Stake {
                    id: 0,
                    token: 0,
                    number: 0,
                    session: session.to_string(),
                    names: names_asked,
                    mode,
                    priority: *priority,
                    lingers: !min_hold.is_zero(),
                    state: State::Waiting,
                    pending: None,
                    awaited: Some(home.0),
                    stale: false,
                };
                let kind = self.acquire(session, opening.is_some(), stake, *queue);
                let was_open = self.sessions.contains_key(&**session);
                if kind != Kind::Rejected && (was_open || kind != Kind::Busy) {
                    self.sessions.insert(session.to_string(), home.0);
                }
                kind
            }
            Command::CancelAcquire { session, names, .. } => {
                if !self.sessions.contains_key(&**session) {
                    return Kind::Rejected;
                }
                let same = |stake: &Stake| {
                    stake.session == **session
                        && stake.names.iter().map(String::as_str).eq(names.iter().map(|name| &**name))
                };
                if let Some(index) =
                    self.stakes.iter().position(|stake| same(stake) && !matches!(stake.state, State::Lingering(_)))
                {
                    self.end(index);
                }
                self.cancelled.push((session.to_string(), names.iter().map(ToString::to_string).collect()));
                Kind::Done
            }
            Command::EndWait { claim, home } => match self.index_of(claim.0) {
                Some(index) if self.stakes[index].state == State::Waiting => {
                    if self.stakes[index].awaited != Some(home.0) {
                        return Kind::Waiting;
                    }
                    self.stakes.remove(index);
                    self.serve();
                    Kind::Busy
                }
                Some(index) if self.stakes[index].state == State::Held => Kind::Held,
                _ => Kind::Done,
            },
            Command::Abandon { claim, home } => {
                if let Some(index) = self.index_of(claim.0) {
                    let stake = &self.stakes[index];
                    let lingering = matches!(stake.state, State::Lingering(_));
                    if !lingering && stake.awaited == Some(home.0) {
                        self.stakes.remove(index);
                        self.serve();
                    }
                }
                Kind::Done
            }
            Command::Acknowledge { claim } => match self.index_of(claim.0) {
                Some(index) if self.stakes[index].state == State::Held => {
                    self.stakes[index].awaited = None;
                    Kind::Updated
                }
                _ => Kind::Done,
            },
            Command::Release { session, name, token } => {
                // The table decides which tokens are valid; the effect of a valid one is checked here.
                if !accepted {
                    return Kind::Rejected;
                }
                let held = |stake: &Stake| {
                    let named = stake.names.iter().any(|held| **held == **name);
                    stake.state == State::Held && stake.session == **session && named && stake.token == token.0
                };
                match self.stakes.iter().position(held) {
                    Some(index) if self.stakes[index].pending.is_some() => {
                        self.hand_over(index, self.stakes[index].pending.unwrap_or(0));
                    }
                    Some(index) => self.end(index),
                    None => {}
                }
                Kind::Done
            }
            Command::UpdateClaim { session, token, .. } => {
                if accepted {
                    let same = |stake: &&mut Stake| stake.session == **session && stake.token == token.0;
                    self.stakes.iter_mut().filter(same).for_each(|stake| stake.awaited = None);
                    Kind::Updated
                } else {
                    Kind::Rejected
                }
            }
            Command::Transfer { name, token, to, by } => {
                self.transfer(name, token.map(|token| token.0), to.as_deref(), by)
            }
            Command::Preempt { claim, home } => {
                if let Some(index) = self.index_of(claim.0)
                    && self.sessions.get(&self.stakes[index].session) == Some(&home.0)
                    && self.stakes[index].state == State::Waiting
                    && self.stakes[index].names.len() == 1
                    && self.preemptive.contains(&self.stakes[index].names[0])
                {
                    self.preempt(index);
                }
                Kind::Done
            }
            Command::EndTransfer { claim, home, .. } => {
                // The scenarios name the pending transfer, if any.
                if let Some(index) = self.index_of(claim.0)
                    && self.sessions.get(&self.stakes[index].session) == Some(&home.0)
                {
                    self.stakes[index].pending = None;
                }
                Kind::Done
            }
            Command::ConfigureLock { name, settings, .. } => {
                self.preemptive.retain(|other| **other != **name);
                if settings.preempt.is_some() {
                    self.preemptive.push(name.to_string());
                }
                match settings.limit {
                    Some(limit) => drop(self.limits.insert(name.to_string(), limit)),
                    None => drop(self.limits.remove(&**name)),
                }
                if let Some(limit) = self.limit(name) {
                    self.stakes.retain(|stake| {
                        let hopeless =
                            stake.mode.permits() > limit && stake.names.iter().any(|other| **other == **name);
                        stake.state != State::Waiting || !hopeless
                    });
                }
                self.serve();
                Kind::Done
            }
            Command::EndLingering { claim, home } => {
                if let Some(index) = self.index_of(claim.0)
                    && self.stakes[index].state == State::Lingering(home.0)
                {
                    self.stakes.remove(index);
                    self.serve();
                }
                Kind::Done
            }
            Command::Evict { name, .. } => {
                let held =
                    |stake: &Stake| stake.state != State::Waiting && stake.names.iter().any(|held| **held == **name);
                let before = self.stakes.len();
                self.stakes.retain(|stake| !held(stake));
                let evicted = before - self.stakes.len();
                self.serve();
                Kind::Evicted(evicted)
            }
            Command::Group(_) => panic!("groups have a model of their own"),
            Command::Connect(hello) => self.connect(hello, actor.as_ref()),
            Command::Change { client, epoch, home, changes, .. } => {
                self.change(client, (*epoch, home.0), changes, actor.as_ref())
            }
            Command::AbandonClient { client, epoch, home, since } => {
                self.abandon_client(client, (*epoch, home.0), since.0);
                Kind::Done
            }
            Command::EndClient { client, epoch, home } => {
                self.end_client(client, (*epoch, home.0));
                Kind::Done
            }
            Command::Adopt { dead, by } => {
                for client in self.clients.iter_mut().filter(|client| client.home == dead.0) {
                    client.home = by.0;
                }
                for home in self.sessions.values_mut().filter(|home| **home == dead.0) {
                    *home = by.0;
                }
                for stake in &mut self.stakes {
                    if stake.state == State::Lingering(dead.0) {
                        stake.state = State::Lingering(by.0);
                    }
                    if stake.state == State::Waiting && stake.awaited == Some(dead.0) {
                        stake.awaited = Some(by.0);
                    }
                }
                Kind::Done
            }
        }
    }
}

impl Naive {
    fn acquire(&mut self, session: &str, opens: bool, stake: Stake, queue: bool) -> Kind {
        let own = |other: &&Stake| other.session == session && !matches!(other.state, State::Lingering(_));
        let overlaps = |other: &&Stake| other.names.iter().any(|name| stake.names.contains(name));
        let existing = self.stakes.iter().position(|other| own(&other) && overlaps(&other));
        if !self.sessions.contains_key(session) && !opens {
            return Kind::Rejected;
        }
        if let Some(index) = existing {
            let existing = &mut self.stakes[index];
            if existing.names != stake.names || existing.mode != stake.mode {
                return Kind::Rejected;
            }
            if existing.stale {
                self.stakes.remove(index);
                self.stakes.push(Stake { state: State::Held, ..stake });
                return Kind::Held;
            }
            if existing.state == State::Waiting || stake.awaited.is_none() {
                existing.awaited = stake.awaited;
            }
            return if existing.state == State::Held { Kind::Held } else { Kind::Waiting };
        }
        self.stakes.push(stake);
        self.serve();
        let last = self.stakes.last().expect("just pushed");
        if last.state == State::Held {
            return Kind::Held;
        }
        if queue {
            return Kind::Waiting;
        }
        self.stakes.pop();
        Kind::Busy
    }

    /// The database loses history.
    pub fn lose(&mut self) {
        for stake in self.stakes.iter_mut().filter(|stake| stake.state == State::Held) {
            stake.stale = true;
        }
    }

    /// The server that may end a stake's wait.
    /// Whether a call that was received before any other event is rejected as late.
    fn rejects_late(&self, session: &str, names: &[String], opens: bool) -> bool {
        let cancelled = self.cancelled.iter().any(|(by, cancelled)| by == session && cancelled == names);
        let was_closed = self.closed.iter().any(|closed| closed == session);
        cancelled || opens && was_closed && !self.sessions.contains_key(session)
    }

    fn index_of(&self, id: u64) -> Option<usize> {
        self.stakes.iter().position(|stake| id > 0 && stake.id == id)
    }

    /// Ends a claim of an open session: it is removed, or lingers if it is held with a minimum.
    fn end(&mut self, index: usize) {
        let home = self.sessions[&self.stakes[index].session];
        if self.stakes[index].state == State::Held && self.stakes[index].lingers {
            self.stakes[index].state = State::Lingering(home);
        } else {
            self.stakes.remove(index);
        }
        self.serve();
    }

    fn end_session(&mut self, session: &str) {
        let Some(home) = self.sessions.get(session).copied() else { return };
        let own = |stake: &Stake| stake.session == session && !matches!(stake.state, State::Lingering(_));
        for stake in self.stakes.iter_mut().filter(|stake| own(stake) && stake.state == State::Held && stake.lingers) {
            stake.state = State::Lingering(home);
        }
        self.stakes.retain(|stake| !own(stake));
        self.sessions.remove(session);
        self.declared.retain(|declared| declared.session != session);
        self.memberships.retain(|membership| membership.session != session);
        self.serve();
    }

    /// The one rule: a claim is served if it is compatible with all holders of its names, and no claim with precedence
    /// waits for any of them.
    fn serve(&mut self) {
        while let Some(next) = (0..self.stakes.len()).find(|&index| self.can_be_served(index, None)) {
            self.stakes[next].state = State::Held;
        }
    }

    /// Whether a waiting stake would be served without the stake `without`.
    fn can_be_served(&self, index: usize, without: Option<usize>) -> bool {
        let goes_first =
            |one: usize, other: usize| (-self.stakes[one].priority, one) < (-self.stakes[other].priority, other);
        let ahead = |other: usize| self.stakes[other].state == State::Waiting && goes_first(other, index);
        self.stakes[index].state == State::Waiting
            && self.fits(index, without)
            && !(0..self.stakes.len()).any(|other| other != index && ahead(other) && self.share_a_name(index, other))
    }

    /// Whether a stake is compatible with all holders of its names.
    fn fits(&self, index: usize, without: Option<usize>) -> bool {
        let stake = &self.stakes[index];
        stake.names.iter().all(|name| {
            let holders: Vec<&Stake> = self
                .stakes
                .iter()
                .enumerate()
                .filter(|(other, held)| {
                    Some(*other) != without && held.state != State::Waiting && held.names.contains(name)
                })
                .map(|(_, held)| held)
                .collect();
            let permits: u32 = holders.iter().map(|held| held.mode.permits()).sum::<u32>() + stake.mode.permits();
            holders.iter().all(|held| match (stake.mode, held.mode) {
                (Mode::Shared, Mode::Shared) => true,
                (Mode::Permits { .. }, Mode::Permits { .. }) => self.limit(name).is_some_and(|limit| permits <= limit),
                _ => false,
            })
        })
    }

    fn share_a_name(&self, one: usize, other: usize) -> bool {
        self.stakes[other].names.iter().any(|name| self.stakes[one].names.contains(name))
    }

    /// The limit that was set, or else the one in the first claim to permits: holders before waiters, each in order.
    fn limit(&self, name: &str) -> Option<u32> {
        let mut stakes: Vec<&Stake> =
            self.stakes.iter().filter(|stake| stake.names.iter().any(|claimed| *claimed == name)).collect();
        // A stable sort: those of the same key stay in order of arrival.
        stakes.sort_by_key(|stake| match stake.state {
            State::Waiting => (1, -stake.priority),
            _ => (0, 0),
        });
        let of_first = stakes.iter().find_map(|stake| match stake.mode {
            Mode::Permits { limit, .. } => Some(limit),
            _ => None,
        });
        self.limits.get(name).copied().or(of_first)
    }

    fn mode(&self, names: &[String], asked: AskedMode) -> Option<Mode> {
        match asked {
            AskedMode::Exclusive => Some(Mode::Exclusive),
            AskedMode::Shared => Some(Mode::Shared),
            AskedMode::Permits { permits, limit: asked } => {
                let limits: Vec<u32> =
                    names.iter().map(|name| self.limit(name).or(asked)).collect::<Option<Vec<u32>>>()?;
                let agree = limits.iter().all(|limit| permits <= *limit && asked.is_none_or(|asked| asked == *limit));
                agree.then(|| Mode::Permits { permits, limit: asked.unwrap_or(limits[0]) })
            }
        }
    }

    /// The mode in which a session claims exactly these names.
    fn own(&self, session: &str, names: &[String]) -> Option<Mode> {
        let own = |stake: &&Stake| stake.session == session && !matches!(stake.state, State::Lingering(_));
        self.stakes.iter().filter(own).find(|stake| stake.names == names).map(|stake| stake.mode)
    }
}

fn names_of(claim: &Claim) -> Vec<String> {
    claim.spec.names.iter().map(ToString::to_string).collect()
}

fn same_mode(asked: AskedMode, mode: Mode) -> bool {
    match (asked, mode) {
        (AskedMode::Exclusive, Mode::Exclusive) | (AskedMode::Shared, Mode::Shared) => true,
        (AskedMode::Permits { permits, .. }, _) => permits == mode.permits(),
        _ => false,
    }
}
