//! Due commands: created when timers expire, and rescheduled when they cannot be carried out.

use super::client_timer::floor;
use super::nanos::Nanos;
use super::timers::Timer;
use super::{Home, RenewError, Tick};
use crate::command::Command;
use crate::names::Text;

impl Home {
    /// When to call [`Self::due`] next.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Tick> {
        self.timers.next().map(Tick::from)
    }

    /// The commands that are due at `now`. Each must be carried out or passed to [`Self::retry_at`].
    pub fn due(&mut self, now: Tick) -> Vec<Command> {
        let mut commands = Vec::new();
        while let Some((at, timer)) = self.timers.expire(now.into()) {
            if !self.is_current(at, &timer) {
                continue;
            }
            commands.extend(match timer {
                Timer::Session(session) => self.session_due(session, now),
                Timer::Client(client) => self.client_due(client, now),
                Timer::Lingering(claim) => Some(Command::EndLingering { claim, home: self.me }),
                Timer::Abandoned(claim) => {
                    self.abandoned.swap_remove(&claim);
                    self.cancelling.insert(claim);
                    Some(Command::Abandon { claim, home: self.me })
                }
                Timer::Transfer(claim) => self.transfer_due(claim),
                Timer::Preempt(claim) => self.preempt_due(claim),
            });
        }
        commands
    }

    fn session_due(&mut self, session: Text, now: Tick) -> Option<Command> {
        let timer = self.sessions.get_mut(&session)?;
        let floor = floor(&self.floors, &self.clients, timer);
        match timer.check(floor, now) {
            Err(RenewError::Ended(reason)) => {
                let opened = timer.opened;
                self.stop_with_client(&session);
                Some(Command::EndSession { session, opened, home: self.me, reason })
            }
            _ => {
                match self.counted_by(&session, now) {
                    Some(client) => self.schedule_client(&client, now),
                    None => self.schedule(&session, now),
                }
                None
            }
        }
    }

    /// Whether a command of [`Self::due`] must still be carried out after later commits: its session may have moved to
    /// another server, and returned with a new TTL and claims that its client knows of.
    #[must_use]
    pub fn is_still_due(&self, command: &Command) -> bool {
        match command {
            Command::EndSession { session, opened, .. } => {
                self.sessions.get(session).is_some_and(|timer| timer.opened == *opened && timer.ended.is_some())
            }
            Command::Abandon { claim, .. } => self.cancelling.contains(claim),
            Command::AbandonClient { client, epoch, .. } | Command::EndClient { client, epoch, .. } => {
                self.is_disconnected(client, *epoch)
            }
            _ => true,
        }
    }

    /// Reschedules a command of [`Self::due`] that could not be carried out: it is due again at `at`.
    pub fn retry_at(&mut self, command: &Command, at: Tick) {
        let at = Nanos::from(at);
        let timer = match command {
            Command::EndSession { session, opened, .. } => {
                let timer = self.sessions.get_mut(session).filter(|timer| timer.opened == *opened);
                let Some(timer) = timer else { return };
                timer.due = at;
                Timer::Session(session.clone())
            }
            Command::EndLingering { claim, .. } => {
                let Some(due) = self.lingering.get_mut(claim) else { return };
                *due = at;
                Timer::Lingering(*claim)
            }
            Command::Abandon { claim, .. } => {
                if !self.cancelling.remove(claim) {
                    return;
                }
                self.abandoned.insert(*claim, at);
                Timer::Abandoned(*claim)
            }
            Command::EndTransfer { claim, started, .. } => {
                let drain = self.drains.get_mut(claim).filter(|(known, _)| known == started);
                let Some((_, due)) = drain else { return };
                *due = at;
                Timer::Transfer(*claim)
            }
            Command::Preempt { claim, .. } => Timer::Preempt(*claim),
            _ => return self.retry_client(command, at),
        };
        self.timers.set(at, timer);
    }

    /// Whether an expired timer is still current.
    fn is_current(&self, at: Nanos, timer: &Timer) -> bool {
        match timer {
            Timer::Client(client) => self.is_client_due(client, at),
            Timer::Session(session) => self.sessions.get(session).is_some_and(|timer| timer.due == at),
            Timer::Lingering(claim) => self.lingering.get(claim) == Some(&at),
            Timer::Abandoned(claim) => self.abandoned.get(claim) == Some(&at),
            Timer::Transfer(claim) => self.drains.get(claim).is_some_and(|(_, due)| *due == at),
            Timer::Preempt(claim) => self.settled.get(claim).is_some_and(|(settled, _)| *settled <= at),
        }
    }
}
