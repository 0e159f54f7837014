//! Due commands: created when timers expire, and rescheduled when they cannot be carried out.

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

    /// The commands that are due at `now`. Each must be carried out or passed to [`Self::again`].
    pub fn due(&mut self, now: Tick) -> Vec<Command> {
        let mut commands = Vec::new();
        while let Some((at, timer)) = self.timers.expire(now.into()) {
            if !self.counts(at, &timer) {
                continue;
            }
            commands.extend(match timer {
                Timer::Session(session) => self.session_due(session, now),
                Timer::Lingering(claim) => Some(Command::EndLingering { claim, home: self.me }),
                Timer::Unattended(claim) => {
                    self.unattended.swap_remove(&claim);
                    self.cancelled.insert(claim);
                    Some(Command::Abandon { claim, home: self.me })
                }
                Timer::Transfer(claim) => self.transfer_due(claim),
                Timer::Preempt(claim) => self.preempt_due(claim),
            });
        }
        commands
    }

    fn session_due(&mut self, session: Text, now: Tick) -> Option<Command> {
        let entry = self.sessions.get_mut(&session)?;
        let floor = self.floors.of(entry.opened);
        match entry.check(floor, now) {
            Err(RenewError::Over(reason)) => {
                Some(Command::EndSession { session, opened: entry.opened, home: self.me, reason })
            }
            _ => {
                entry.timer = entry.deadline(floor);
                let at = entry.timer;
                self.timers.set(at, Timer::Session(session));
                None
            }
        }
    }

    /// Whether a command of [`Self::due`] must still be carried out after later commits: its session may have moved to
    /// another server, and returned with a new TTL and claims that its client knows of.
    #[must_use]
    pub fn stands(&self, command: &Command) -> bool {
        match command {
            Command::EndSession { session, opened, .. } => {
                self.sessions.get(session).is_some_and(|entry| entry.opened == *opened && entry.is_over())
            }
            Command::Abandon { claim, .. } => self.cancelled.contains(claim),
            _ => true,
        }
    }

    /// Reschedules a command of [`Self::due`] that could not be carried out: it is due again at `at`.
    pub fn again(&mut self, command: &Command, at: Tick) {
        let at = Nanos::from(at);
        let timer = match command {
            Command::EndSession { session, opened, .. } => {
                let Some(entry) = self.sessions.get_mut(session).filter(|entry| entry.opened == *opened) else {
                    return;
                };
                entry.timer = at;
                Timer::Session(session.clone())
            }
            Command::EndLingering { claim, .. } => {
                let Some(due) = self.lingering.get_mut(claim) else { return };
                *due = at;
                Timer::Lingering(*claim)
            }
            Command::Abandon { claim, .. } => {
                if !self.cancelled.remove(claim) {
                    return;
                }
                self.unattended.insert(*claim, at);
                Timer::Unattended(*claim)
            }
            Command::EndTransfer { claim, started, .. } => {
                let drain = self.handoffs.drains.get_mut(claim).filter(|(known, _)| known == started);
                let Some((_, due)) = drain else { return };
                *due = at;
                Timer::Transfer(*claim)
            }
            Command::Preempt { claim, .. } => Timer::Preempt(*claim),
            _ => return,
        };
        self.timers.set(at, timer);
    }

    /// Whether an expired timer is still current.
    fn counts(&self, at: Nanos, timer: &Timer) -> bool {
        match timer {
            Timer::Session(session) => self.sessions.get(session).is_some_and(|entry| entry.timer == at),
            Timer::Lingering(claim) => self.lingering.get(claim) == Some(&at),
            Timer::Unattended(claim) => self.unattended.get(claim) == Some(&at),
            Timer::Transfer(claim) => self.handoffs.drains.get(claim).is_some_and(|(_, due)| *due == at),
            Timer::Preempt(claim) => self.handoffs.settled.get(claim).is_some_and(|settled| *settled <= at),
        }
    }
}
