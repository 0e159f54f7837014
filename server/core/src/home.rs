//! The home of sessions: one server's timers. It takes renewals in memory, and says what is due.

mod handoff;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::time::Duration;

use crate::command::Command;
use crate::event::{EndReason, Event, Recorded};
use crate::model::{Claim, ClaimState, Revision, ServerId, Session, Text};
use crate::pauses::Pauses;
use crate::table::Table;
use handoff::Handoffs;

/// A moment on the server's service clock: how long it has been able to take renewals. Only differences count.
pub type Tick = Duration;

/// A client's stream, by a number that is unique in the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamId(pub u64);

/// Why a renewal is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotKept {
    /// This server is not the session's home.
    Elsewhere,
    /// The session's time is up: its end is under way, and nothing revives it.
    Over,
    /// The session is attached to another stream, or to none.
    NotAttached,
}

/// One server's timers for one namespace.
#[derive(Debug)]
pub struct Home {
    me: ServerId,
    /// How long a claim is kept that nobody attends to.
    reattach: Duration,
    /// No session counts from earlier than this.
    floor: Tick,
    kept: HashMap<Text, Kept>,
    /// Since when the claims that sessions hold are known here: their grant, or the move of their session to this home.
    held: HashMap<Revision, Tick>,
    /// When claims that linger here may go.
    lingering: HashMap<Revision, Tick>,
    /// When claims that nobody attends to are given up.
    unattended: HashMap<Revision, Tick>,
    handoffs: Handoffs,
    timers: BinaryHeap<Reverse<(Tick, Timer)>>,
}

#[derive(Debug)]
struct Kept {
    opened: Revision,
    ttl: Duration,
    renewed: Tick,
    /// What was promised before its TTL was changed: it lives at least until then.
    promised: Tick,
    /// Its time was up. From then on no renewal is taken.
    over: bool,
    stream: Option<StreamId>,
    pauses: Pauses,
    /// The one timer of this session that counts.
    timer: Tick,
}

/// How a session's renewals came during a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renewals {
    /// The time since the last one.
    pub since_last: Duration,
    /// The longest time without one, as [`Home::tell_pauses`] would tell it if the hold ended now.
    pub longest_pause: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Session(Text),
    Lingering(Revision),
    Unattended(Revision),
    /// A holder is to have confirmed.
    Transfer(Revision),
    /// A waiter is to have settled.
    Preempt(Revision),
}

impl Home {
    /// A home without sessions. A claim that nobody attends to is given up after `reattach`.
    #[must_use]
    pub fn new(me: ServerId, reattach: Duration) -> Self {
        Self {
            me,
            reattach,
            floor: Tick::ZERO,
            kept: HashMap::new(),
            held: HashMap::new(),
            lingering: HashMap::new(),
            unattended: HashMap::new(),
            handoffs: Handoffs::default(),
            timers: BinaryHeap::new(),
        }
    }

    /// The server whose home this is.
    #[must_use]
    pub fn me(&self) -> ServerId {
        self.me
    }

    /// Takes note of a committed event. `table` shows the state after the batch that the event is part of.
    pub fn observe(&mut self, recorded: &Recorded, table: &Table, now: Tick) {
        match &recorded.event {
            Event::SessionOpened(spec) if spec.home == self.me => {
                self.keep(&spec.id, recorded.revision, spec.ttl, now);
            }
            Event::SessionAttached { session, opened, home, ttl } => {
                if *home == self.me {
                    self.keep(session, *opened, *ttl, now);
                    if let Some(session) = table.session(session) {
                        self.watch_over_waits(session, table, now);
                        for claim in session.claim_ids().into_iter().filter_map(|id| table.claim(id)) {
                            self.hold(claim, now);
                        }
                    }
                } else {
                    self.kept.remove(session);
                }
            }
            Event::SessionEnded { session, opened, .. }
                if self.kept.get(session).is_some_and(|kept| kept.opened == *opened) =>
            {
                self.kept.remove(session);
            }
            Event::ClaimGranted { claim, spec } if self.kept.contains_key(&spec.session) => {
                self.held.insert(*claim, now);
            }
            Event::ClaimTransferred { from, claim, spec, .. } => {
                self.held.remove(from);
                if self.kept.contains_key(&spec.session) {
                    self.held.insert(*claim, now);
                }
            }
            Event::ClaimLingering { claim, spec, home, .. } => {
                let since = self.held.remove(claim);
                if *home == self.me {
                    self.linger(*claim, since.unwrap_or(now) + spec.min_hold);
                }
            }
            Event::ClaimEnded { claim, .. } => {
                self.held.remove(claim);
                self.lingering.remove(claim);
                self.unattended.remove(claim);
            }
            Event::ServerAdopted { .. } => self.rebuild(table, now),
            _ => {}
        }
        self.observe_handoffs(recorded, table, now);
    }

    /// Takes over whatever the table says has this home: with a fresh TTL what was not kept here before. Forgets the rest.
    pub fn rebuild(&mut self, table: &Table, now: Tick) {
        let me = self.me;
        self.kept.retain(|id, kept| {
            table.session(id).is_some_and(|session| session.spec.home == me && session.opened == kept.opened)
        });
        for session in table.sessions_after(Revision(0)).filter(|session| session.spec.home == me) {
            match self.kept.get(&session.spec.id).map(|kept| kept.ttl) {
                Some(ttl) if ttl == session.spec.ttl => {}
                Some(_) => self.keep(&session.spec.id, session.opened, session.spec.ttl, now),
                None => {
                    self.keep(&session.spec.id, session.opened, session.spec.ttl, now);
                    self.watch_over_waits(session, table, now);
                }
            }
        }
        self.unattended.retain(|claim, _| table.claim(*claim).is_some());
        self.lingering.retain(|claim, _| table.claim(*claim).is_some());
        for claim in table.claims() {
            if let ClaimState::Lingering { home, .. } = claim.state
                && home == me
                && !self.lingering.contains_key(&claim.id)
            {
                let since = self.held.get(&claim.id).copied().unwrap_or(now);
                self.linger(claim.id, since + claim.spec.min_hold);
            }
            self.hold(claim, now);
        }
        self.held.retain(|claim, _| table.claim(*claim).is_some_and(is_held));
        self.rebuild_handoffs(table, now);
    }

    /// Renews a session: it lives for a full TTL from now.
    ///
    /// # Errors
    /// If this is not its home, or if its time was up already: nothing that has expired is revived.
    pub fn renew(&mut self, session: &str, now: Tick) -> Result<Duration, NotKept> {
        let floor = self.floor;
        let kept = self.kept.get_mut(session).ok_or(NotKept::Elsewhere)?;
        if kept.over || kept.deadline(floor) <= now {
            kept.over = true;
            return Err(NotKept::Over);
        }
        kept.pauses.ended(now, now.saturating_sub(kept.renewed));
        kept.renewed = now;
        Ok(kept.ttl)
    }

    /// Renews a session on the stream that it is attached to.
    ///
    /// # Errors
    /// As [`Self::renew`], and if the session is not attached to this stream.
    pub fn keep_alive(&mut self, session: &str, stream: StreamId, now: Tick) -> Result<Duration, NotKept> {
        if self.kept.get(session).ok_or(NotKept::Elsewhere)?.stream != Some(stream) {
            return Err(NotKept::NotAttached);
        }
        self.renew(session, now)
    }

    /// Attaches a session to a stream. Returns the stream that it was attached to before, if that was another one.
    ///
    /// # Errors
    /// If this is not the session's home.
    pub fn attach(&mut self, session: &str, stream: StreamId) -> Result<Option<StreamId>, NotKept> {
        let kept = self.kept.get_mut(session).ok_or(NotKept::Elsewhere)?;
        Ok(kept.stream.replace(stream).filter(|before| *before != stream))
    }

    /// The stream that a session is attached to.
    #[must_use]
    pub fn stream_of(&self, session: &str) -> Option<StreamId> {
        self.kept.get(session)?.stream
    }

    /// How long a session that is kept here lives on at least.
    #[must_use]
    pub fn remaining(&self, session: &str, now: Tick) -> Option<Duration> {
        self.kept.get(session).map(|kept| kept.deadline(self.floor).saturating_sub(now))
    }

    /// How the renewals of a session that is kept here came during a hold of it.
    #[must_use]
    pub fn renewals(&self, claim: Revision, session: &str, opened: Revision, now: Tick) -> Option<Renewals> {
        let kept = self.kept.get(session).filter(|kept| kept.opened == opened)?;
        let since = *self.held.get(&claim)?;
        let since_last = now.saturating_sub(kept.renewed);
        Some(Renewals { since_last, longest_pause: kept.pauses.longest_since(since, since_last) })
    }

    /// Writes into decided events in which holds end how late the renewals were, where this is the home that knows: the
    /// longest time in which the session was not renewed although it could have been, of those that ended during the hold
    /// and the last one, which ends with the hold. What an earlier home saw is not known. Told at most a seventh longer
    /// than it was, never shorter. For people: no decision depends on it.
    pub fn tell_pauses(&self, decided: &mut [Recorded], now: Tick) {
        let mut lingering = HashSet::new();
        for recorded in decided {
            let (claim, spec, told) = match &mut recorded.event {
                Event::ClaimLingering { claim, spec, longest_pause, .. } => {
                    lingering.insert(*claim);
                    (*claim, spec, longest_pause)
                }
                // When lingering ends, the hold has been over for long.
                Event::ClaimEnded { claim, spec, longest_pause, .. } if !lingering.contains(claim) => {
                    (*claim, spec, longest_pause)
                }
                Event::ClaimTransferred { from, from_spec, longest_pause, .. } => (*from, from_spec, longest_pause),
                _ => continue,
            };
            let renewals = self.renewals(claim, &spec.session, spec.opened, now);
            *told = renewals.map(|renewals| renewals.longest_pause);
        }
    }

    /// How many sessions are kept here.
    #[must_use]
    pub fn session_count(&self) -> usize {
        self.kept.len()
    }

    /// Somebody is there to receive the grant of this claim.
    pub fn attend(&mut self, claim: Revision) {
        if self.unattended.remove(&claim).is_some() {
            self.attend_settled(claim);
        }
    }

    /// Nobody is there any more to receive the grant of this claim: it is given up, even if granted meanwhile, unless
    /// somebody comes back for it soon.
    pub fn leave(&mut self, claim: Revision, now: Tick) {
        let at = now + self.reattach;
        self.unattended.insert(claim, at);
        self.timers.push(Reverse((at, Timer::Unattended(claim))));
    }

    /// The server was not able to take renewals until now, so every session lives for a full TTL from now.
    pub fn refresh(&mut self, now: Tick) {
        self.floor = now;
        for kept in self.kept.values_mut() {
            kept.over = false;
        }
    }

    /// When [`Self::due`] is to be called next.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Tick> {
        self.timers.peek().map(|Reverse((at, _))| *at)
    }

    /// What has to be asked of the table now that it is `now`. Each command is to be carried out or handed to
    /// [`Self::again`].
    pub fn due(&mut self, now: Tick) -> Vec<Command> {
        let mut commands = Vec::new();
        while self.next_deadline().is_some_and(|at| at <= now) {
            let Some(Reverse((at, timer))) = self.timers.pop() else { break };
            commands.extend(match timer {
                Timer::Session(session) => self.session_due(session, at, now),
                Timer::Lingering(claim) => {
                    let due = self.lingering.get(&claim) == Some(&at);
                    due.then_some(Command::EndLingering { claim, home: self.me })
                }
                Timer::Unattended(claim) => {
                    let due = self.unattended.get(&claim) == Some(&at);
                    if due {
                        self.unattended.remove(&claim);
                    }
                    due.then_some(Command::Abandon { claim, home: self.me })
                }
                Timer::Transfer(claim) => self.transfer_due(claim, at),
                Timer::Preempt(claim) => self.preempt_due(claim, at),
            });
        }
        commands
    }

    fn session_due(&mut self, session: Text, at: Tick, now: Tick) -> Option<Command> {
        let floor = self.floor;
        let kept = self.kept.get_mut(&session).filter(|kept| kept.timer == at)?;
        let deadline = kept.deadline(floor);
        if deadline > now && !kept.over {
            kept.timer = deadline;
            self.timers.push(Reverse((deadline, Timer::Session(session))));
            return None;
        }
        kept.over = true;
        Some(Command::EndSession { session, opened: kept.opened, home: self.me, reason: EndReason::Expired })
    }

    /// A command of [`Self::due`] could not be carried out: it is due again at `at`.
    pub fn again(&mut self, command: &Command, at: Tick) {
        let timer = match command {
            Command::EndSession { session, opened, .. } => {
                let Some(kept) = self.kept.get_mut(session).filter(|kept| kept.opened == *opened) else { return };
                kept.timer = at;
                Timer::Session(session.clone())
            }
            Command::EndLingering { claim, .. } => {
                let Some(due) = self.lingering.get_mut(claim) else { return };
                *due = at;
                Timer::Lingering(*claim)
            }
            Command::Abandon { claim, .. } => {
                self.unattended.insert(*claim, at);
                Timer::Unattended(*claim)
            }
            Command::EndTransfer { claim, started, .. } => {
                self.handoffs.drains.insert(*claim, (*started, at));
                Timer::Transfer(*claim)
            }
            Command::Preempt { claim, .. } => Timer::Preempt(*claim),
            _ => return,
        };
        self.timers.push(Reverse((at, timer)));
    }

    fn keep(&mut self, session: &Text, opened: Revision, ttl: Duration, now: Tick) {
        let before = self.kept.remove(session).filter(|kept| kept.opened == opened);
        let stream = before.as_ref().and_then(|kept| kept.stream);
        let promised = before.as_ref().map_or(Tick::ZERO, |kept| kept.deadline(self.floor));
        let mut pauses = Pauses::default();
        if let Some(before) = before {
            pauses = before.pauses;
            pauses.ended(now, now.saturating_sub(before.renewed));
        }
        let timer = promised.max(now + ttl);
        let kept = Kept { opened, ttl, renewed: now, promised, over: false, stream, pauses, timer };
        self.kept.insert(session.clone(), kept);
        self.timers.push(Reverse((timer, Timer::Session(session.clone()))));
    }

    /// The waits of a session that has just come here are given up unless somebody asks for them here.
    fn watch_over_waits(&mut self, session: &Session, table: &Table, now: Tick) {
        let waits = |claim: &&Claim| claim.state == ClaimState::Waiting;
        for claim in session.claim_ids().into_iter().filter_map(|id| table.claim(id)).filter(waits) {
            if !self.unattended.contains_key(&claim.id) {
                self.leave(claim.id, now);
            }
        }
    }

    /// Takes note of a claim that is held by a session that is kept here.
    fn hold(&mut self, claim: &Claim, now: Tick) {
        if is_held(claim) && self.kept.contains_key(&claim.spec.session) {
            self.held.entry(claim.id).or_insert(now);
        }
    }

    fn linger(&mut self, claim: Revision, at: Tick) {
        self.lingering.insert(claim, at);
        self.timers.push(Reverse((at, Timer::Lingering(claim))));
    }
}

fn is_held(claim: &Claim) -> bool {
    matches!(claim.state, ClaimState::Held { .. })
}

impl Kept {
    fn deadline(&self, floor: Tick) -> Tick {
        (self.renewed.max(floor) + self.ttl).max(self.promised)
    }
}
