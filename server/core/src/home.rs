//! The home of sessions: one server's timers. It takes renewals in memory, and says what is due.

mod handoff;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::Duration;

use crate::command::Command;
use crate::event::{EndReason, Event, Recorded};
use crate::model::{ClaimState, Revision, ServerId, Session, Text};
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
    /// When claims with a minimum hold were granted.
    granted: HashMap<Revision, Tick>,
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
    /// The one timer of this session that counts.
    timer: Tick,
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
            granted: HashMap::new(),
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
                    let comes = !self.kept.contains_key(session);
                    self.keep(session, *opened, *ttl, now);
                    if let Some(session) = table.session(session).filter(|_| comes) {
                        self.watch_over_waits(session, table, now);
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
            Event::ClaimGranted { claim, spec } | Event::ClaimTransferred { claim, spec, .. }
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
        self.rebuild_handoffs(table, now);
    }

    /// How long a claim is kept that nobody attends to.
    #[must_use]
    pub fn reattach(&self) -> Duration {
        self.reattach
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
        let before = self.kept.get(session).filter(|kept| kept.opened == opened);
        let stream = before.and_then(|kept| kept.stream);
        let promised = before.map_or(Tick::ZERO, |kept| kept.deadline(self.floor));
        let timer = promised.max(now + ttl);
        self.kept.insert(session.clone(), Kept { opened, ttl, renewed: now, promised, over: false, stream, timer });
        self.timers.push(Reverse((timer, Timer::Session(session.clone()))));
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

    fn linger(&mut self, claim: Revision, min_hold: Duration, now: Tick) {
        let granted = self.granted.remove(&claim).unwrap_or(now);
        let at = granted + min_hold;
        self.lingering.insert(claim, at);
        self.timers.push(Reverse((at, Timer::Lingering(claim))));
    }
}

impl Kept {
    fn deadline(&self, floor: Tick) -> Tick {
        (self.renewed.max(floor) + self.ttl).max(self.promised)
    }
}
