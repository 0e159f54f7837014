//! The home of sessions: one server's timers. It takes renewals in memory, and says what is due.

mod handoff;
mod kept;
mod renewals;
mod streams;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::time::Duration;

use crate::command::Command;
use crate::event::{EndReason, Event, Recorded};
use crate::model::{ClaimState, Revision, ServerId, Session, Text};
use crate::pauses::Pauses;
use crate::table::Table;
use handoff::Handoffs;
use kept::{Bond, Kept};
pub use renewals::Renewals;
use renewals::is_held;

/// A moment on the server's service clock: how long it has been able to take renewals. Only differences count.
pub type Tick = Duration;

/// A client's stream, by a number that is unique in the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

/// Why a renewal is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotKept {
    /// This server is not the session's home.
    Elsewhere,
    /// The session's time is up, and why: its end is under way, and nothing revives it.
    Over(EndReason),
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
    /// The sessions with a disconnect grace, by the stream that they are attached to.
    graced: BTreeMap<StreamId, BTreeSet<Text>>,
    /// Since when the claims that sessions hold are known here: their grant, or the move of their session to this home.
    held: HashMap<Revision, Tick>,
    /// When claims that linger here may go.
    lingering: HashMap<Revision, Tick>,
    /// When claims that nobody attends to are given up.
    unattended: HashMap<Revision, Tick>,
    handoffs: Handoffs,
    timers: BinaryHeap<Reverse<(Tick, Timer)>>,
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
            graced: BTreeMap::new(),
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
                self.keep(&spec.id, recorded.revision, spec.ttl, spec.disconnect_grace, now);
            }
            Event::SessionAttached { session, opened, home, ttl, disconnect_grace } => {
                if *home != self.me {
                    self.forget(session);
                } else {
                    let comes = !self.kept.contains_key(session);
                    self.keep(session, *opened, *ttl, *disconnect_grace, now);
                    if let Some(session) = table.session(session).filter(|_| comes) {
                        self.watch_over_waits(session, table, now);
                        for claim in session.claim_ids().into_iter().filter_map(|id| table.claim(id)) {
                            self.hold(claim, now);
                        }
                    }
                }
            }
            Event::SessionEnded { session, opened, .. }
                if self.kept.get(session).is_some_and(|kept| kept.opened == *opened) =>
            {
                self.forget(session);
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
        self.graced.retain(|_, sessions| {
            sessions.retain(|id| self.kept.contains_key(id));
            !sessions.is_empty()
        });
        for session in table.sessions_after(Revision(0)).filter(|session| session.spec.home == me) {
            let (ttl, grace) = (session.spec.ttl, session.spec.disconnect_grace);
            let before = self.kept.get(&session.spec.id).map(|kept| (kept.ttl, kept.disconnect_grace));
            if before != Some((ttl, grace)) {
                self.keep(&session.spec.id, session.opened, ttl, grace, now);
            }
            if before.is_none() {
                self.watch_over_waits(session, table, now);
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

    /// How long a claim is kept that nobody attends to.
    #[must_use]
    pub fn reattach(&self) -> Duration {
        self.reattach
    }

    /// Renews a session for a caller without a stream: it lives for a full TTL from now, whatever becomes of its stream.
    ///
    /// # Errors
    /// If this is not its home, or if its time was up already: nothing that is over is revived.
    pub fn renew(&mut self, session: &str, now: Tick) -> Result<Duration, NotKept> {
        let kept = self.kept.get_mut(session).ok_or(NotKept::Elsewhere)?;
        kept.check(self.floor, now)?;
        kept.renew(now);
        kept.called = now + kept.ttl;
        if let Bond::Broken { .. } = kept.bond {
            // Its client has come back, if not by a stream.
            kept.bond = Bond::None;
        }
        Ok(kept.ttl)
    }

    /// Renews a session on the stream that it is attached to: it lives for a full TTL from now while the stream does, and for
    /// its disconnect grace after that.
    ///
    /// # Errors
    /// As [`Self::renew`], and if the session is not attached to this stream.
    pub fn keep_alive(&mut self, session: &str, stream: StreamId, now: Tick) -> Result<Duration, NotKept> {
        let kept = self.kept.get_mut(session).ok_or(NotKept::Elsewhere)?;
        if kept.stream() != Some(stream) {
            return Err(NotKept::NotAttached);
        }
        kept.check(self.floor, now)?;
        kept.renew(now);
        Ok(kept.ttl)
    }

    /// How long a session that is kept here lives on at least.
    #[must_use]
    pub fn remaining(&self, session: &str, now: Tick) -> Option<Duration> {
        self.kept.get(session).map(|kept| kept.deadline(self.floor).saturating_sub(now))
    }

    /// How many sessions are kept here.
    #[must_use]
    pub fn session_count(&self) -> usize {
        self.kept.len()
    }

    /// Whether a claim will be given up unless somebody comes back for it.
    #[must_use]
    pub fn is_unattended(&self, claim: Revision) -> bool {
        self.unattended.contains_key(&claim)
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

    /// The server was not able to take renewals until now, so every session lives for a full TTL from now, or for its full
    /// disconnect grace.
    pub fn refresh(&mut self, now: Tick) {
        self.floor = now;
        for kept in self.kept.values_mut() {
            kept.over = None;
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
        match kept.check(floor, now) {
            Err(NotKept::Over(reason)) => {
                Some(Command::EndSession { session, opened: kept.opened, home: self.me, reason })
            }
            _ => {
                kept.timer = kept.deadline(floor);
                self.timers.push(Reverse((kept.timer, Timer::Session(session))));
                None
            }
        }
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

    fn keep(&mut self, session: &Text, opened: Revision, ttl: Duration, disconnect_grace: Option<Duration>, now: Tick) {
        let before = self.kept.remove(session).filter(|kept| kept.opened == opened);
        let promised = before.as_ref().map_or(Tick::ZERO, |kept| kept.expiry(self.floor));
        let called = before.as_ref().map_or(Tick::ZERO, |kept| kept.called);
        let bond = before.as_ref().map_or(Bond::None, |kept| kept.bond);
        let mut pauses = Pauses::default();
        if let Some(before) = before {
            pauses = before.pauses;
            pauses.ended(now, now.saturating_sub(before.renewed));
        }
        let (renewed, over, timer) = (now, None, Tick::ZERO);
        let mut kept = Kept { opened, ttl, disconnect_grace, renewed, promised, called, bond, over, pauses, timer };
        kept.timer = kept.deadline(self.floor);
        self.timers.push(Reverse((kept.timer, Timer::Session(session.clone()))));
        self.kept.insert(session.clone(), kept);
    }

    /// The session is not kept here any more.
    fn forget(&mut self, session: &Text) {
        if let Some(stream) = self.kept.remove(session).and_then(|kept| kept.stream()) {
            self.leave_stream(session, stream);
        }
    }

    /// The waits of a session that has just come here are given up unless somebody asks for them here. What it holds is its
    /// own, whatever was thought here before: it may have heard of the grant elsewhere.
    fn watch_over_waits(&mut self, session: &Session, table: &Table, now: Tick) {
        for claim in session.claim_ids().into_iter().filter_map(|id| table.claim(id)) {
            if claim.state == ClaimState::Waiting {
                self.leave(claim.id, now);
            } else {
                self.unattended.remove(&claim.id);
            }
        }
    }

    fn linger(&mut self, claim: Revision, at: Tick) {
        self.lingering.insert(claim, at);
        self.timers.push(Reverse((at, Timer::Lingering(claim))));
    }
}
