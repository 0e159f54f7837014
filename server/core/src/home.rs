//! The home of sessions: one server's timers. It takes renewals in memory, and reports the commands that are due.

mod client_timer;
mod due;
mod floors;
mod handoff;
mod nanos;
mod pauses;
mod renewals;
mod session_timer;
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
use crate::model::{ClaimState, Revision, ServerId, SessionSpec};
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

/// The reason why a renewal is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenewError {
    /// This server is not the session's home.
    NotHome,
    /// The session's time is up, for this reason: its end is in progress, and nothing revives it.
    Ended(EndReason),
    /// A client has declared the session, and renews it.
    OfClient,
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
    /// Since when held claims are known here: since their grant, or since their session moved to this home.
    held: Ascending<(Revision, Nanos)>,
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
            Event::SessionOpened(spec) if spec.home == self.me => self.insert_session(spec, recorded.revision, now),
            Event::SessionMoved { session, home, .. } if *home != self.me => {
                self.remove_session(session);
                for claim in table.session(session).into_iter().flat_map(|found| table.claims_of(found)) {
                    self.drains.swap_remove(&claim.id);
                }
            }
            Event::SessionMoved { session, opened, .. } => {
                // If the table shows none, or a later one of this id, this session ends later in the batch.
                if let Some(found) = table.session(session).filter(|found| found.opened == *opened) {
                    let comes = !self.sessions.contains_key(session);
                    self.insert_session(&found.spec, *opened, now);
                    for claim in table.claims_of(found).filter(|_| comes) {
                        if claim.token().is_some() {
                            self.record_hold(claim.id, &claim.spec.session, now);
                        }
                        self.start_handoff_timers(claim, table, now);
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
                let since = self.held.remove(claim).map(|(_, since)| since);
                if *home == self.me {
                    self.start_lingering(*claim, since.unwrap_or(now.into()) + Duration::from(spec.min_hold).into());
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
            let before = self.sessions.get(&session.spec.id).map(SessionTimer::ttl);
            if before != Some(session.spec.ttl) {
                self.insert_session(&session.spec, session.opened, now);
            }
        }
        // Nothing is known of claims that the table does not have yet, so they stay.
        let is_here = |claim: &Revision| match table.claim(*claim) {
            Some(claim) => claim.spec.waiting_server == Some(me),
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
                        self.start_lingering(claim.id, since + Duration::from(claim.spec.min_hold).into());
                    }
                }
            }
        }
        self.rebuild_handoffs(table, now);
    }

    /// Processes a table that was reloaded, which has skipped events: a claim is not cancelled here if it is awaited at
    /// another server by now, or its grant was acknowledged.
    pub fn reconcile(&mut self, table: &Table) {
        let is_settled =
            |claim: &Revision| table.claim(*claim).is_some_and(|found| found.spec.waiting_server != Some(self.me));
        let settled: Vec<Revision> =
            self.abandoned.keys().chain(&self.cancelling).copied().filter(is_settled).collect();
        for claim in settled {
            self.clear_abandoned(claim);
        }
    }

    /// Renews a session that was opened by a call: it lives for a full TTL from now.
    ///
    /// # Errors
    /// If this is not its home, if its time was already up (an ended session is not revived), or if it is renewed with
    /// its client.
    pub fn renew(&mut self, session: &str, now: Tick) -> Result<Duration, RenewError> {
        let timer = self.sessions.get_mut(session).ok_or(RenewError::NotHome)?;
        if timer.client.is_some() {
            return Err(RenewError::OfClient);
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

    /// Whether a session has its home here and was opened by another identity.
    #[must_use]
    pub fn is_of_another(&self, session: &str, identity: &Text) -> bool {
        let opener = self.sessions.get(session).and_then(|timer| timer.identity.as_ref());
        opener.is_some_and(|opener| opener != identity)
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

    /// Inserts a session at home here, or updates it, and renews it: from now on with its client, if it has one.
    fn insert_session(&mut self, spec: &SessionSpec, opened: Revision, now: Tick) {
        match self.sessions.get_mut(&spec.id).filter(|timer| timer.opened == opened) {
            Some(timer) => timer.update(spec.ttl, self.floors.of(opened), now),
            None => {
                self.remove_session(&spec.id);
                self.sessions.insert(spec.id.clone(), SessionTimer::new(spec, opened, now));
            }
        }
        match spec.client {
            Some(_) => self.run_with_client(&spec.id, now),
            None => self.schedule(&spec.id, now),
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
        if let Some(client) = &timer.client {
            self.leave_client(client, &timer);
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
