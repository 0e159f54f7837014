//! The home of sessions: one server's timers. It takes renewals in memory, and reports the commands that are due.

mod client_timer;
mod due;
mod floors;
mod handoff;
mod nanos;
mod pauses;
mod renewals;
mod session_timer;
mod streams;
#[cfg(test)]
mod tests;
mod timers;

use std::collections::BTreeSet;
use std::mem::replace;
use std::time::Duration;

use crate::ascending::Ascending;
use crate::end::EndReason;
use crate::event::{Event, Recorded};
use crate::map::Map;
use crate::model::{Claim, ClaimState, Revision, ServerId, Session};
use crate::names::Text;
use crate::table::Table;
use client_timer::{ClientTimer, floor};
use floors::Floors;
use nanos::Nanos;
pub use renewals::Renewals;
use session_timer::SessionTimer;
use timers::{Timer, Timers};

/// A moment on the server's service clock, which counts the time that the server was able to take renewals. Only
/// differences matter.
pub type Tick = Duration;

/// A client's stream, by a number that is unique in the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

/// The reason why a renewal is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenewError {
    /// This server is not the session's home.
    NotHome,
    /// The session's time is up, for this reason: its end is in progress, and nothing revives it.
    Ended(EndReason),
    /// The session is attached to another stream, or to none.
    NotAttached,
}

/// One server's timers for one namespace.
#[derive(Debug, Default)]
pub struct Home {
    me: ServerId,
    /// How long an abandoned claim, whose grant no caller is present to receive, is kept.
    reattach: Duration,
    /// The longest lease of a server.
    longest_lease: Duration,
    floors: Floors,
    clients: Map<Text, ClientTimer>,
    sessions: Map<Text, SessionTimer>,
    /// The sessions with a disconnect grace, by the stream they are attached to.
    by_stream: BTreeSet<(StreamId, Text)>,
    /// Since when held claims are known here: since their grant, or since their session moved to this home.
    held: Ascending<Revision, Nanos>,
    /// When claims that linger here may end.
    lingering: Map<Revision, Nanos>,
    /// When abandoned claims are cancelled.
    abandoned: Map<Revision, Nanos>,
    /// The claims that are being cancelled.
    cancelling: BTreeSet<Revision>,
    /// Until when holders that were asked to hand over may keep the lock, and the revision of the request.
    drains: Map<Revision, (Revision, Nanos)>,
    /// When waiters are settled, on locks that allow preemption, and their sessions.
    settled: Map<Revision, (Nanos, Text)>,
    timers: Timers,
}

impl Home {
    /// A home without sessions. An abandoned claim is cancelled after `reattach`.
    #[must_use]
    pub fn new(me: ServerId, reattach: Duration) -> Self {
        Self { me, reattach, ..Self::default() }
    }

    /// The server whose home this is.
    #[must_use]
    pub fn me(&self) -> ServerId {
        self.me
    }

    /// Processes a committed event. `table` is the state after the batch that the event is part of.
    pub fn observe(&mut self, recorded: &Recorded, table: &Table, now: Tick) {
        match &recorded.event {
            Event::HistoryLost { .. } => self.observe_loss(recorded.revision, now),
            Event::SessionOpened(spec) if spec.home == self.me && spec.declared > 0 => {
                self.insert_declared(spec, recorded.revision, now);
            }
            Event::SessionOpened(spec) if spec.home == self.me => {
                self.insert_session(&spec.id, recorded.revision, spec.ttl, spec.disconnect_grace, now);
                self.set_client(spec);
            }
            Event::SessionAttached { session, home, .. } if *home != self.me => {
                self.remove_session(session);
                for claim in table.session(session).into_iter().flat_map(|found| table.claims_of(found)) {
                    if is_cancelled_by_home(claim) {
                        self.clear_abandoned(claim.id);
                    }
                    self.drains.swap_remove(&claim.id);
                }
            }
            Event::SessionAttached { session, opened, ttl, disconnect_grace, attachment, .. } => {
                let comes = !self.sessions.contains_key(session);
                self.insert_session(session, *opened, *ttl, *disconnect_grace, now);
                // If the table shows none, or a later one of this id, this session ends later in the batch.
                if let Some(found) = table.session(session).filter(|found| found.opened == *opened) {
                    self.set_client(&found.spec);
                    if comes {
                        self.abandon_waits(found, recorded.revision, table, now);
                        for claim in table.claims_of(found) {
                            if claim.token().is_some() {
                                self.record_hold(claim.id, &claim.spec.session, now);
                            }
                            self.start_handoff_timers(claim, table, now);
                        }
                    } else if *attachment > 0 {
                        // A client that counts attachments learns from the reply to each of them what it holds.
                        self.clear_abandoned_holds(found, table);
                    }
                }
            }
            Event::SessionEnded { session, .. } => self.remove_session(session),
            Event::ClaimGranted { claim, spec } => self.record_hold(*claim, &spec.session, now),
            Event::ClaimTransferred { from, claim, spec, .. } => {
                self.held.remove(from);
                self.record_hold(*claim, &spec.session, now);
            }
            Event::ClaimAwaited { claim, at } if *at != Some(self.me) => {
                self.clear_abandoned(*claim);
            }
            // The session knows that it holds the claim.
            Event::ClaimUpdated { claim, .. } => {
                self.clear_abandoned(*claim);
            }
            Event::ClaimLingering { claim, spec, home, .. } => {
                let since = self.held.remove(claim);
                if *home == self.me {
                    self.start_lingering(*claim, since.unwrap_or(now.into()) + spec.min_hold.into());
                }
            }
            Event::ClaimEnded { claim, .. } => {
                self.held.remove(claim);
                self.clear_abandoned(*claim);
                if let Some(at) = self.lingering.swap_remove(claim) {
                    self.timers.unset(at, Timer::Lingering(*claim));
                }
            }
            Event::ClientConnected { client, epoch, home, .. } if *home == self.me => {
                // If the table shows another epoch, the client has connected again later in the batch.
                if let Some(found) = table.client(client).filter(|found| found.epoch == *epoch) {
                    self.observe_client(found, recorded.revision, table, now);
                }
            }
            Event::ClientConnected { client, .. } | Event::ClientEnded { client } => self.remove_client(client, table),
            Event::ServerAdopted { .. } => self.take_over(recorded.revision, table, now),
            _ => {}
        }
        self.observe_handoffs(recorded, table, now);
    }

    /// Takes over everything of which this is the home according to the table, with a fresh TTL if it was not at
    /// home here before. Forgets the rest.
    pub fn rebuild(&mut self, table: &Table, now: Tick) {
        self.take_over(table.revision(), table, now);
    }

    /// Rebuilds because sessions moved here at revision `moved`.
    fn take_over(&mut self, moved: Revision, table: &Table, now: Tick) {
        self.observe_loss(table.lost(), now);
        let me = self.me;
        let is_gone = |(id, timer): &(&Text, &SessionTimer)| {
            table.session(id).is_none_or(|session| session.spec.home != me || session.opened != timer.opened)
        };
        let gone: Vec<Text> = self.sessions.iter().filter(is_gone).map(|(id, _)| id.clone()).collect();
        gone.iter().for_each(|id| self.remove_session(id));
        self.take_over_clients(moved, table, now);
        for session in table.sessions_after(Revision(0)).filter(|session| session.spec.home == me) {
            let (ttl, grace) = (session.spec.ttl, session.spec.disconnect_grace);
            let before = self.sessions.get(&session.spec.id).map(|timer| (timer.ttl(), timer.disconnect_grace()));
            if session.spec.declared > 0 {
                if before.is_none() {
                    self.insert_declared(&session.spec, session.opened, now);
                }
                continue;
            }
            if before != Some((ttl, grace)) {
                self.insert_session(&session.spec.id, session.opened, ttl, grace, now);
            }
            self.set_client(&session.spec);
            if before.is_none() {
                self.abandon_waits(session, moved, table, now);
            }
        }
        // A claim is no longer cancelled here if its session has moved: the session may return with its client. Nothing
        // is known of claims that the table does not have yet, so they stay.
        let sessions = &self.sessions;
        let is_here = |claim: &Revision| match table.claim(*claim) {
            Some(Claim { spec, .. }) => match spec.waiting_server {
                Some(at) => at == me,
                None => sessions.get(&spec.session).is_some_and(|timer| timer.opened == spec.opened),
            },
            None => *claim > table.revision(),
        };
        self.abandoned.retain(|claim, _| is_here(claim));
        self.cancelling.retain(is_here);
        self.lingering.retain(|claim, _| table.claim(*claim).is_some());
        let held = std::mem::take(&mut self.held);
        for claim in table.claims() {
            let since = held.get(&claim.id).copied().unwrap_or(now.into());
            match claim.state {
                ClaimState::Waiting => {}
                ClaimState::Held { .. } => self.record_hold(claim.id, &claim.spec.session, since.into()),
                ClaimState::Lingering { home, .. } => {
                    if home == me && !self.lingering.contains_key(&claim.id) {
                        self.start_lingering(claim.id, since + claim.spec.min_hold.into());
                    }
                }
            }
        }
        self.rebuild_handoffs(table, now);
    }

    /// Processes a table that was reloaded, which has skipped events: a claim is not cancelled here if it is awaited at
    /// another server by now, or its grant was acknowledged. A grant for a stream is not cancelled either: it looks the
    /// same.
    pub fn reconcile(&mut self, table: &Table) {
        let is_settled = |claim: &Revision| {
            table.claim(*claim).is_some_and(|found| match found.spec.waiting_server {
                Some(at) => at != self.me,
                None => found.token().is_some(),
            })
        };
        let settled: Vec<Revision> =
            self.abandoned.keys().chain(&self.cancelling).copied().filter(is_settled).collect();
        for claim in settled {
            self.clear_abandoned(claim);
        }
    }

    /// Renews a session for a caller without a stream: it lives for a full TTL from now, whatever happens to its
    /// stream.
    ///
    /// # Errors
    /// If this is not its home, if its time was already up (an ended session is not revived), or if it is renewed with
    /// its client.
    pub fn renew(&mut self, session: &str, now: Tick) -> Result<Duration, RenewError> {
        let timer = self.sessions.get_mut(session).ok_or(RenewError::NotHome)?;
        if timer.declared > 0 {
            return Err(RenewError::NotAttached);
        }
        timer.check(self.floors.of(timer.opened), now)?;
        timer.renew_by_call(now);
        Ok(timer.ttl())
    }

    /// Renews a session on the stream it is attached to: it lives for a full TTL from now while the stream does, and
    /// for its disconnect grace after that.
    ///
    /// # Errors
    /// As [`Self::renew`], and if the session is not attached to this stream.
    pub fn keep_alive(&mut self, session: &str, stream: StreamId, now: Tick) -> Result<Duration, RenewError> {
        let timer = self.sessions.get_mut(session).ok_or(RenewError::NotHome)?;
        if timer.stream() != Some(stream) {
            return Err(RenewError::NotAttached);
        }
        timer.check(self.floors.of(timer.opened), now)?;
        timer.renew(now);
        Ok(timer.ttl())
    }

    /// The minimum time that a session at home here lives on.
    #[must_use]
    pub fn remaining(&self, session: &str, now: Tick) -> Option<Duration> {
        let timer = self.sessions.get(session)?;
        let floor = floor(&self.floors, &self.clients, timer);
        Some(Tick::from(timer.deadline(floor)).saturating_sub(now))
    }

    /// Whether a session is at home here.
    #[must_use]
    pub fn has_session(&self, session: &str) -> bool {
        self.sessions.contains_key(session)
    }

    /// The time since the last renewal of a session at home here.
    #[must_use]
    pub fn since_renewed(&self, session: &str, now: Tick) -> Option<Duration> {
        Some(now.saturating_sub(self.renewed(self.sessions.get(session)?)))
    }

    /// When a session was renewed last, by itself or with its client.
    fn renewed(&self, timer: &SessionTimer) -> Tick {
        let client = timer.client.as_ref().filter(|_| timer.runs).and_then(|client| self.clients.get(client));
        client.map_or(timer.renewed(), |client| client.renewed().max(timer.renewed()))
    }

    /// The number of sessions at home here.
    #[must_use]
    pub fn session_count(&self) -> usize {
        self.sessions.len()
    }

    /// Whether a claim will be cancelled unless a caller reconnects for it.
    #[must_use]
    pub fn is_abandoned(&self, claim: Revision) -> bool {
        self.abandoned.contains_key(&claim)
    }

    /// A caller is present to receive the grant of this claim.
    pub fn register_caller(&mut self, claim: Revision) {
        if self.clear_abandoned(claim) {
            self.reschedule_preemption(claim);
        }
    }

    /// No caller is left to receive the grant of this claim: it is cancelled after a while, even if granted meanwhile,
    /// unless a caller reconnects for it.
    pub fn mark_abandoned(&mut self, claim: Revision, now: Tick) {
        self.clear_abandoned(claim);
        let at = (now + self.reattach).into();
        self.abandoned.insert(claim, at);
        self.timers.set(at, Timer::Abandoned(claim));
    }

    /// The server was not able to take renewals until now, so every session lives for a full TTL from now, or for its
    /// full disconnect grace. Sessions whose time was up before are excepted: their end may be in progress, and nothing
    /// revives them.
    pub fn refresh(&mut self, now: Tick) {
        self.floors.all = now;
    }

    /// Records a server's lease. The longest lease is how long another server, cut off from the database, may go on
    /// answering renewals for sessions that the database has lost.
    pub fn observe_lease(&mut self, lease: Duration) {
        self.longest_lease = self.longest_lease.max(lease);
    }

    /// In the lost history, sessions may have had another home, which has answered their renewals, and may do so for
    /// its lease. Each therefore lives for a full TTL after that, even if its time was up: its end is no longer
    /// [due](Self::is_still_due).
    fn observe_loss(&mut self, lost: Revision, now: Tick) {
        if !self.floors.record_loss(lost, now + self.longest_lease) {
            return;
        }
        for (id, timer) in &mut self.sessions {
            if timer.ended.take().is_some() {
                timer.due = timer.deadline(floor(&self.floors, &self.clients, timer));
                self.timers.set(timer.due, Timer::Session(id.clone()));
            }
        }
    }

    fn insert_session(&mut self, session: &Text, opened: Revision, ttl: Duration, grace: Option<Duration>, now: Tick) {
        self.enter_session(session, opened, ttl, grace, now);
        self.schedule(session, now);
    }

    fn enter_session(&mut self, session: &Text, opened: Revision, ttl: Duration, grace: Option<Duration>, now: Tick) {
        match self.sessions.get_mut(session).filter(|timer| timer.opened == opened) {
            Some(timer) => timer.update(ttl, grace, self.floors.of(opened), now),
            None => {
                self.remove_session(session);
                self.sessions.insert(session.clone(), SessionTimer::new(opened, ttl, grace, now));
            }
        }
    }

    /// Ensures that a timer expires when the session's time is up. An earlier timer suffices: the deadline is checked
    /// when it expires.
    fn schedule(&mut self, session: &Text, now: Tick) {
        let Some(timer) = self.sessions.get_mut(session) else { return };
        let deadline = timer.deadline(floor(&self.floors, &self.clients, timer));
        if timer.due <= now.into() || deadline < timer.due {
            let subject = Timer::Session(session.clone());
            self.timers.unset(replace(&mut timer.due, deadline), subject.clone());
            self.timers.set(deadline, subject);
        }
    }

    /// Removes a session that is no longer at home here.
    fn remove_session(&mut self, session: &Text) {
        let Some(timer) = self.sessions.swap_remove(session) else { return };
        self.timers.unset(timer.due, Timer::Session(session.clone()));
        if let Some(stream) = timer.stream() {
            self.by_stream.remove(&(stream, session.clone()));
        }
        if let Some(client) = timer.client.as_ref().filter(|_| timer.declared > 0) {
            self.leave_client(client, &timer);
        }
    }

    /// The waits of a session that moved here at revision `moved` are cancelled unless a caller requests them here.
    /// Later ones of the same batch were requested here.
    fn abandon_waits(&mut self, session: &Session, moved: Revision, table: &Table, now: Tick) {
        self.clear_abandoned_holds(session, table);
        for claim in table.claims_of(session) {
            if claim.state == ClaimState::Waiting && claim.id <= moved && is_cancelled_by_home(claim) {
                self.mark_abandoned(claim.id, now);
            }
        }
    }

    /// A session keeps its holds, even those that were to be cancelled here: its client may have learned of the grant
    /// from another server.
    fn clear_abandoned_holds(&mut self, session: &Session, table: &Table) {
        for claim in table.claims_of(session) {
            if claim.state != ClaimState::Waiting && is_cancelled_by_home(claim) {
                self.clear_abandoned(claim.id);
            }
        }
    }

    /// A caller is registered for a claim, or the claim needs no caller any more. Returns whether it was abandoned.
    fn clear_abandoned(&mut self, claim: Revision) -> bool {
        self.cancelling.remove(&claim);
        let Some(at) = self.abandoned.swap_remove(&claim) else { return false };
        self.timers.unset(at, Timer::Abandoned(claim));
        true
    }

    fn start_lingering(&mut self, claim: Revision, at: Nanos) {
        self.lingering.insert(claim, at);
        self.timers.set(at, Timer::Lingering(claim));
    }
}

/// Whether the home of its session is responsible for cancelling an abandoned claim.
fn is_cancelled_by_home(claim: &Claim) -> bool {
    claim.spec.waiting_server.is_none()
}
