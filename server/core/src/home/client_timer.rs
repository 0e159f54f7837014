//! Clients at home here: one renewal for all sessions of a client, whatever their number, and the end of what a
//! disconnected client does not know that it has.

use std::collections::BTreeMap;
use std::mem::replace;

use super::floors::Floors;
use super::nanos::Nanos;
use super::pauses::Pauses;
use super::session_timer::SessionTimer;
use super::timers::Timer;
use super::{Home, RenewError, Tick};
use crate::ascending::Ascending;
use crate::client::Client;
use crate::command::Command;
use crate::map::Map;
use crate::model::Revision;
use crate::names::Text;
use crate::table::Table;

/// The timer of a client at home here.
#[derive(Debug)]
pub(super) struct ClientTimer {
    epoch: u64,
    link: Link,
    renewed: Nanos,
    pub(super) pauses: Pauses,
    /// The number of sessions that are renewed with the client, by their TTLs.
    running: BTreeMap<Nanos, usize>,
    /// All its sessions, by number. Those that are not renewed with it are paused, or their time is up.
    sessions: Ascending<(u64, Text)>,
    /// When the only current timer of this client expires.
    due: Option<Nanos>,
}

/// The link between a client and its home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Connected,
    /// The client has not connected again yet.
    Disconnected {
        since: Revision,
        abandon: Nanos,
    },
    /// It did not do so in time. It is ended when it has no session left, but not before `end`.
    Abandoned {
        end: Nanos,
    },
    /// Its end is in progress.
    Ending,
}

impl ClientTimer {
    fn new(epoch: u64, link: Link, now: Tick) -> Self {
        let (running, sessions) = (BTreeMap::new(), Ascending::default());
        Self { epoch, link, renewed: now.into(), pauses: Pauses::default(), running, sessions, due: None }
    }

    /// The next moment after `now` at which a session may expire, and the moment at which the client is abandoned or
    /// ended.
    fn deadline(&self, floor: Tick, now: Nanos) -> Option<Nanos> {
        let base = self.renewed.max(floor.into());
        let expiry = self.running.keys().map(|ttl| base + *ttl).find(|at| *at > now);
        let end = match self.link {
            Link::Disconnected { abandon, .. } => Some(abandon),
            Link::Abandoned { end } if self.sessions.is_empty() => Some(end),
            Link::Connected | Link::Abandoned { .. } | Link::Ending => None,
        };
        expiry.into_iter().chain(end).min()
    }

    pub(super) fn renewed(&self) -> Tick {
        self.renewed.into()
    }

    /// One session with this TTL less is renewed with the client.
    fn stop_running(&mut self, ttl: Nanos) {
        if let Some(count) = self.running.get_mut(&ttl) {
            *count -= 1;
            if *count == 0 {
                self.running.remove(&ttl);
            }
        }
    }
}

/// The moment from which the TTL of a session counts at the earliest. A renewal of its client is one.
pub(super) fn floor(floors: &Floors, clients: &Map<Text, ClientTimer>, timer: &SessionTimer) -> Tick {
    let floor = floors.of(timer.opened);
    let client = timer.client.as_ref().filter(|_| timer.runs).and_then(|client| clients.get(client));
    client.map_or(floor, |client| floor.max(client.renewed()))
}

impl Home {
    /// Renews a connected client, and so all its sessions that are not paused.
    ///
    /// # Errors
    /// If it is not connected to this server with this epoch.
    pub fn renew_client(&mut self, client: &Text, epoch: u64, now: Tick) -> Result<(), RenewError> {
        let floor = self.floors.all;
        let timer = self.clients.get_mut(client).ok_or(RenewError::NotHome)?;
        if (timer.epoch, timer.link) != (epoch, Link::Connected) {
            return Err(RenewError::NotHome);
        }
        // What has expired is not revived.
        if timer.deadline(floor, Nanos::default()).is_some_and(|expiry| expiry <= now.into()) {
            self.expire_sessions(client, now);
        }
        if let Some(timer) = self.clients.get_mut(client) {
            let moment = Nanos::from(now);
            timer.pauses.record(moment, moment - timer.renewed);
            timer.renewed = moment;
            self.schedule_client(client, now);
        }
        Ok(())
    }

    /// Pauses the session with this number: it is no longer renewed with its client. `false`: it is not open here.
    pub fn pause(&mut self, client: &Text, number: u64, now: Tick) -> bool {
        let Some(session) = self.session_of(client, number) else { return false };
        let Some(timer) = self.sessions.get_mut(&session).filter(|timer| timer.runs) else { return true };
        timer.pause(floor(&self.floors, &self.clients, timer));
        self.stop_with_client(&session);
        self.schedule(&session, now);
        true
    }

    /// Renews a paused session, and from now on with its client.
    ///
    /// # Errors
    /// See [`Self::renew`].
    pub fn resume(&mut self, client: &Text, number: u64, now: Tick) -> Result<(), RenewError> {
        let session = self.session_of(client, number).ok_or(RenewError::NotHome)?;
        let timer = self.sessions.get_mut(&session).ok_or(RenewError::NotHome)?;
        timer.check(floor(&self.floors, &self.clients, timer), now)?;
        timer.renew(now);
        self.run_with_client(&session, now);
        Ok(())
    }

    fn session_of(&self, client: &Text, number: u64) -> Option<Text> {
        self.clients.get(client)?.sessions.get(&number).cloned()
    }

    /// The stream of a client has ended, at revision `since`. If its own side ended it, its sessions end after their
    /// disconnect grace. Unless it connects again in time, its waits end then, and what it is granted from now on.
    pub fn client_disconnected(&mut self, client: &Text, epoch: u64, since: Revision, by_client: bool, now: Tick) {
        let abandon = (now + self.reattach).into();
        let Some(timer) = self.clients.get_mut(client).filter(|timer| timer.epoch == epoch) else { return };
        let sessions: Vec<Text> = timer.sessions.values().cloned().collect();
        timer.link = match sessions[..] {
            [] => Link::Abandoned { end: now.into() },
            _ => Link::Disconnected { since, abandon },
        };
        self.schedule_client(client, now);
        for session in sessions.iter().filter(|_| by_client) {
            if self.sessions.get_mut(session).is_some_and(|timer| timer.disconnect(now)) {
                self.schedule(session, now);
            }
        }
    }

    /// A client has connected here: it and its sessions are renewed.
    pub(super) fn observe_client(&mut self, client: &Client, moved: Revision, table: &Table, now: Tick) {
        let Client { id, epoch, .. } = client;
        if let Some(before) = self.clients.swap_remove(id) {
            self.timers.unset(before.due.unwrap_or_default(), Timer::Client(id.clone()));
        }
        self.clients.insert(id.clone(), ClientTimer::new(*epoch, Link::Connected, now));
        for session in client.items.sessions().filter_map(|session| table.session(session)) {
            // Those that were opened after the client connected are observed then.
            if session.opened < moved {
                self.insert_session(&session.spec, session.opened, now);
                for claim in table.claims_of(session).filter(|claim| claim.id < moved) {
                    if claim.token().is_some() {
                        self.record_hold(claim.id, &claim.spec.session, now);
                    }
                    self.start_handoff_timers(claim, table, now);
                    self.reschedule_preemption(claim.id);
                }
            }
        }
    }

    /// A client and its sessions are at home elsewhere, or have ended.
    pub(super) fn remove_client(&mut self, client: &Text, table: &Table) {
        let Some(timer) = self.clients.swap_remove(client) else { return };
        self.timers.unset(timer.due.unwrap_or_default(), Timer::Client(client.clone()));
        for session in timer.sessions.values() {
            self.remove_session(session);
            for claim in table.session(session).into_iter().flat_map(|found| table.claims_of(found)) {
                self.drains.swap_remove(&claim.id);
            }
        }
    }

    /// Takes over the clients of which this is the home according to the table. Forgets the rest.
    pub(super) fn take_over_clients(&mut self, moved: Revision, table: &Table, now: Tick) {
        let me = self.me;
        let is_gone = |id: &&Text| table.client(id).is_none_or(|client| client.home != me);
        let gone: Vec<Text> = self.clients.keys().filter(is_gone).cloned().collect();
        gone.iter().for_each(|client| self.remove_client(client, table));
        for client in table.clients().filter(|client| client.home == me) {
            let disconnected = Link::Disconnected { since: moved, abandon: (now + self.reattach).into() };
            match self.clients.get_mut(&client.id) {
                Some(timer) if timer.epoch == client.epoch => {}
                // Only its stream at this server can have connected it.
                Some(timer) if timer.epoch < client.epoch => {
                    (timer.epoch, timer.link) = (client.epoch, Link::Connected);
                }
                // The database has lost that it was connected: its stream ends.
                Some(timer) => (timer.epoch, timer.link) = (client.epoch, disconnected),
                None => {
                    let timer = ClientTimer::new(client.epoch, disconnected, now);
                    self.clients.insert(client.id.clone(), timer);
                }
            }
            self.schedule_client(&client.id, now);
        }
    }

    /// Renews a session with its client from now on.
    pub(super) fn run_with_client(&mut self, session: &Text, now: Tick) {
        let Some(timer) = self.sessions.get_mut(session) else { return };
        let Some(id) = timer.client.clone() else { return };
        let Some(client) = self.clients.get_mut(&id) else { return };
        let ttl = Nanos::from(timer.ttl());
        let is_known = client.sessions.get(&timer.declared).is_some();
        if !is_known {
            client.sessions.insert((timer.declared, session.clone()));
        }
        // It may have run with the client before that connected anew.
        if !replace(&mut timer.runs, true) || !is_known {
            *client.running.entry(ttl).or_default() += 1;
        }
        if client.renewed.max(self.floors.all.into()) + ttl <= now.into() {
            // Until the next renewal of its client, it lives on by its own.
            self.schedule(session, now);
        }
        self.schedule_client(&id, now);
    }

    /// A session is no longer renewed with its client.
    pub(super) fn stop_with_client(&mut self, session: &Text) {
        let Some(timer) = self.sessions.get_mut(session).filter(|timer| timer.runs) else { return };
        timer.runs = false;
        if let Some(client) = timer.client.as_ref().and_then(|client| self.clients.get_mut(client)) {
            client.stop_running(timer.ttl().into());
        }
    }

    /// The client whose timer counts the time of a session.
    pub(super) fn counted_by(&self, session: &Text, now: Tick) -> Option<Text> {
        let timer = self.sessions.get(session).filter(|timer| timer.runs)?;
        let client = timer.client.as_ref()?;
        let found = self.clients.get(client)?;
        let expiry = found.renewed.max(self.floors.all.into()) + timer.ttl().into();
        (found.link == Link::Connected && expiry > now.into()).then(|| client.clone())
    }

    /// Removes a session from its client, which may have nothing left.
    pub(super) fn leave_client(&mut self, client: &Text, session: &SessionTimer) {
        let Some(timer) = self.clients.get_mut(client) else { return };
        if timer.sessions.remove(&session.declared).is_some() && session.runs {
            timer.stop_running(session.ttl().into());
        }
        if timer.sessions.is_empty() {
            let renewed = timer.renewed;
            self.schedule_client(client, renewed.into());
        }
    }

    /// Makes the expiry of a client's sessions final, as far as their time is up.
    fn expire_sessions(&mut self, client: &Text, now: Tick) {
        let Some(timer) = self.clients.get(client) else { return };
        let base = timer.renewed.max(self.floors.all.into());
        if timer.running.keys().next().is_none_or(|ttl| base + *ttl > now.into()) {
            return;
        }
        let is_due = |timer: &SessionTimer| timer.runs && base + timer.ttl().into() <= now.into();
        let sessions = timer.sessions.values().filter(|session| self.sessions.get(*session).is_some_and(is_due));
        for session in sessions.cloned().collect::<Vec<_>>() {
            let Some(timer) = self.sessions.get_mut(&session) else { continue };
            let floor = floor(&self.floors, &self.clients, timer);
            if timer.check(floor, now).is_err() {
                self.stop_with_client(&session);
            }
            // Its own timer reports its end, or counts the rest of its time.
            self.schedule(&session, now);
        }
    }

    /// Ensures that a timer expires when something is to be done for the client. An earlier one suffices.
    pub(super) fn schedule_client(&mut self, client: &Text, now: Tick) {
        let Some(timer) = self.clients.get_mut(client) else { return };
        let Some(deadline) = timer.deadline(self.floors.all, now.into()) else { return };
        if timer.due.is_none_or(|due| due <= now.into() || deadline < due) {
            if let Some(due) = timer.due.replace(deadline) {
                self.timers.unset(due, Timer::Client(client.clone()));
            }
            self.timers.set(deadline, Timer::Client(client.clone()));
        }
    }

    /// Whether an expired timer of a client is still current.
    pub(super) fn is_client_due(&self, client: &Text, at: Nanos) -> bool {
        self.clients.get(client).is_some_and(|timer| timer.due == Some(at))
    }

    /// What is to be done for a client whose timer has expired.
    pub(super) fn client_due(&mut self, client: Text, now: Tick) -> Option<Command> {
        self.expire_sessions(&client, now);
        let (home, moment) = (self.me, Nanos::from(now));
        let timer = self.clients.get_mut(&client)?;
        timer.due = None;
        let epoch = timer.epoch;
        let command = match timer.link {
            Link::Disconnected { since, abandon } if abandon <= moment => {
                timer.link = Link::Abandoned { end: moment };
                Some(Command::AbandonClient { client: client.clone(), epoch, home, since })
            }
            Link::Abandoned { end } if end <= moment && timer.sessions.is_empty() => {
                timer.link = Link::Ending;
                Some(Command::EndClient { client: client.clone(), epoch, home })
            }
            _ => None,
        };
        self.schedule_client(&client, now);
        command
    }

    /// The client that has declared a session at home here, and the number by which it did.
    #[must_use]
    pub fn declared_by(&self, session: &str) -> Option<(&Text, u64)> {
        let timer = self.sessions.get(session)?;
        Some((timer.client.as_ref()?, timer.declared))
    }

    /// Whether a client has not connected again with a later epoch than this.
    pub(super) fn is_disconnected(&self, client: &Text, epoch: u64) -> bool {
        self.clients.get(client).is_some_and(|timer| timer.epoch == epoch && timer.link != Link::Connected)
    }

    /// Whether a session is that of a client which is not connected at present.
    pub(super) fn is_of_disconnected(&self, session: &Text) -> bool {
        let timer = self.sessions.get(session);
        let client = timer.and_then(|timer| timer.client.as_ref()).and_then(|client| self.clients.get(client));
        client.is_some_and(|client| client.link != Link::Connected)
    }

    /// Reschedules a command of a client that could not be carried out.
    pub(super) fn retry_client(&mut self, command: &Command, at: Nanos) {
        let (client, link) = match command {
            Command::AbandonClient { client, since, .. } => (client, Link::Disconnected { since: *since, abandon: at }),
            Command::EndClient { client, .. } => (client, Link::Abandoned { end: at }),
            _ => return,
        };
        if let Some(timer) = self.clients.get_mut(client).filter(|timer| timer.link != Link::Connected) {
            timer.link = link;
            self.schedule_client(client, Tick::ZERO);
        }
    }
}
