//! The home of sessions: one server's timers. It takes renewals in memory, and says what is due.

mod kept;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::time::Duration;

use crate::command::Command;
use crate::event::{EndReason, Event, Recorded};
use crate::model::{Claim, ClaimState, Revision, ServerId, Session, Text};
use crate::table::Table;
use kept::{Bond, Kept};

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
    /// When claims with a minimum hold were granted.
    granted: HashMap<Revision, Tick>,
    /// When claims that linger here may go.
    lingering: HashMap<Revision, Tick>,
    /// When claims that nobody attends to are given up.
    unattended: HashMap<Revision, Tick>,
    timers: BinaryHeap<Reverse<(Tick, Timer)>>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Session(Text),
    Lingering(Revision),
    Unattended(Revision),
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
            granted: HashMap::new(),
            lingering: HashMap::new(),
            unattended: HashMap::new(),
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
                    self.keep(session, *opened, *ttl, *disconnect_grace, now);
                    if let Some(session) = table.session(session) {
                        self.watch_over_waits(session, table, now);
                    }
                }
            }
            Event::SessionEnded { session, opened, .. }
                if self.kept.get(session).is_some_and(|kept| kept.opened == *opened) =>
            {
                self.forget(session);
            }
            Event::ClaimGranted { claim, spec }
                if !spec.min_hold.is_zero() && self.kept.contains_key(&spec.session) =>
            {
                self.granted.insert(*claim, now);
            }
            Event::ClaimLingering { claim, spec, home, .. } if *home == self.me => {
                self.linger(*claim, spec.min_hold, now);
            }
            Event::ClaimEnded { claim, .. } => {
                self.granted.remove(claim);
                self.lingering.remove(claim);
                self.unattended.remove(claim);
            }
            Event::ServerAdopted { .. } => self.rebuild(table, now),
            _ => {}
        }
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
        self.granted.retain(|claim, _| table.claim(*claim).is_some());
        self.unattended.retain(|claim, _| table.claim(*claim).is_some());
        self.lingering.retain(|claim, _| table.claim(*claim).is_some());
        for claim in table.claims() {
            if let ClaimState::Lingering { home, .. } = claim.state
                && home == me
                && !self.lingering.contains_key(&claim.id)
            {
                self.linger(claim.id, claim.spec.min_hold, now);
            }
        }
    }

    /// Renews a session for a caller without a stream: it lives for a full TTL from now, whatever becomes of its stream.
    ///
    /// # Errors
    /// If this is not its home, or if its time was up already: nothing that is over is revived.
    pub fn renew(&mut self, session: &str, now: Tick) -> Result<Duration, NotKept> {
        let kept = self.kept.get_mut(session).ok_or(NotKept::Elsewhere)?;
        kept.check(self.floor, now)?;
        kept.renewed = now;
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
        kept.renewed = now;
        Ok(kept.ttl)
    }

    /// Attaches a session to a stream, which renews it. Returns the stream that it was attached to before, if that was
    /// another one.
    ///
    /// # Errors
    /// As [`Self::renew`].
    pub fn attach(&mut self, session: &Text, stream: StreamId, now: Tick) -> Result<Option<StreamId>, NotKept> {
        let kept = self.kept.get_mut(session).ok_or(NotKept::Elsewhere)?;
        kept.check(self.floor, now)?;
        kept.renewed = now;
        let before = kept.stream().filter(|before| *before != stream);
        let grace = kept.disconnect_grace;
        kept.bond = Bond::Attached { stream, grace };
        if let Some(before) = before {
            self.leave_stream(session, before);
        }
        if grace.is_some() {
            self.graced.entry(stream).or_default().insert(session.clone());
        }
        Ok(before)
    }

    /// The client's side of a stream has ended, and not by the doing of this server: the sessions that are attached to it end
    /// after their disconnect grace, unless they are attached to another one before.
    pub fn disconnected(&mut self, stream: StreamId, now: Tick) {
        for session in self.graced.remove(&stream).unwrap_or_default() {
            if let Some(Bond::Attached { stream: at, grace: Some(grace) }) =
                self.kept.get(&session).map(|kept| kept.bond)
                && at == stream
            {
                self.begin_grace(session, grace, now);
            }
        }
    }

    /// The stream that a session was to be attached to has ended before it was.
    pub fn attached_in_vain(&mut self, session: &Text, now: Tick) {
        if let Some(kept) = self.kept.get(session)
            && let (Bond::None, Some(grace)) = (kept.bond, kept.disconnect_grace)
        {
            self.begin_grace(session.clone(), grace, now);
        }
    }

    fn begin_grace(&mut self, session: Text, grace: Duration, now: Tick) {
        let Some(kept) = self.kept.get_mut(&session) else { return };
        kept.bond = Bond::Broken { since: now, grace };
        let deadline = kept.deadline(self.floor);
        if kept.timer != deadline {
            kept.timer = deadline;
            self.timers.push(Reverse((deadline, Timer::Session(session))));
        }
    }

    /// The stream that a session is attached to.
    #[must_use]
    pub fn stream_of(&self, session: &str) -> Option<StreamId> {
        self.kept.get(session)?.stream()
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

    /// Somebody is there to receive the grant of this claim.
    pub fn attend(&mut self, claim: Revision) {
        self.unattended.remove(&claim);
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
            _ => return,
        };
        self.timers.push(Reverse((at, timer)));
    }

    fn keep(&mut self, session: &Text, opened: Revision, ttl: Duration, disconnect_grace: Option<Duration>, now: Tick) {
        let before = self.kept.get(session).filter(|kept| kept.opened == opened);
        let promised = before.map_or(Tick::ZERO, |kept| kept.expiry(self.floor));
        let called = before.map_or(Tick::ZERO, |kept| kept.called);
        let bond = before.map_or(Bond::None, |kept| kept.bond);
        let (renewed, over, timer) = (now, None, Tick::ZERO);
        let mut kept = Kept { opened, ttl, disconnect_grace, renewed, promised, called, bond, over, timer };
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

    fn leave_stream(&mut self, session: &Text, stream: StreamId) {
        if let Some(sessions) = self.graced.get_mut(&stream) {
            sessions.remove(session);
            if sessions.is_empty() {
                self.graced.remove(&stream);
            }
        }
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

    fn linger(&mut self, claim: Revision, min_hold: Duration, now: Tick) {
        let granted = self.granted.remove(&claim).unwrap_or(now);
        let at = granted + min_hold;
        self.lingering.insert(claim, at);
        self.timers.push(Reverse((at, Timer::Lingering(claim))));
    }
}
