//! The home's timers for planned handoffs: how long a holder may drain, and when a better waiter may preempt.

use std::time::Duration;

use super::nanos::Nanos;
use super::{Home, Tick, Timer};
use crate::command::Command;
use crate::event::{Event, Recorded};
use crate::model::{Claim, ClaimState, Revision, Transfer};
use crate::names::Text;
use crate::table::Table;

/// A preemption that the holder did not confirm is retried after the settling time, but not sooner than this.
const TRY_AGAIN: Duration = Duration::from_secs(1);

impl Home {
    pub(super) fn observe_handoffs(&mut self, recorded: &Recorded, table: &Table, now: Tick) {
        match &recorded.event {
            Event::TransferStarted { claim, spec, drain, .. } if self.sessions.contains_key(&spec.session) => {
                self.start_drain(*claim, recorded.revision, *drain, now);
            }
            Event::TransferCancelled { claim, spec, .. } => {
                self.drains.swap_remove(claim);
                for name in &spec.names {
                    self.restart_settling(name, table, now);
                }
                self.schedule_preemptions(&spec.names, table, now);
            }
            Event::ClaimQueued(spec) => {
                if let Some(claim) = table.claim(recorded.revision) {
                    self.start_handoff_timers(claim, table, now);
                }
                self.schedule_preemptions(&spec.names, table, now);
            }
            // It was first in all its queues, so no waiter behind it is better.
            Event::ClaimGranted { claim, .. } => {
                self.settled.swap_remove(claim);
            }
            Event::ClaimLingering { claim, spec, .. } | Event::ClaimEnded { claim, spec, .. } => {
                self.settled.swap_remove(claim);
                self.drains.swap_remove(claim);
                self.schedule_preemptions(&spec.names, table, now);
            }
            Event::ClaimTransferred { from, claim, spec, .. } => {
                self.drains.swap_remove(from);
                self.settled.swap_remove(claim);
                self.schedule_preemptions(&spec.names, table, now);
            }
            Event::LockConfigured { name, .. } => {
                let waiters = table.lock(name).into_iter().flat_map(|lock| lock.waiters());
                for claim in waiters.filter_map(|rank| table.claim(rank.1)) {
                    self.start_handoff_timers(claim, table, now);
                }
                self.schedule_preemption(name, table, now);
            }
            _ => {}
        }
    }

    pub(super) fn rebuild_handoffs(&mut self, table: &Table, now: Tick) {
        let sessions = &self.sessions;
        let is_here = |claim: &Claim| sessions.contains_key(&claim.spec.session);
        self.drains.retain(|claim, _| table.claim(*claim).is_some_and(is_here));
        self.settled.retain(|claim, _| table.claim(*claim).is_some());
        for claim in table.claims() {
            self.start_handoff_timers(claim, table, now);
        }
        for (name, _) in table.all_settings() {
            self.schedule_preemption(name, table, now);
        }
    }

    /// Starts the timers that a claim of a session at home here needs, unless they are already running.
    pub(super) fn start_handoff_timers(&mut self, claim: &Claim, table: &Table, now: Tick) {
        if !self.sessions.contains_key(&claim.spec.session) {
            return;
        }
        match (claim.state, claim.transfer.as_deref()) {
            (ClaimState::Waiting, _) => {
                let settings = claim.spec.names.iter().find_map(|name| table.settings(name)?.preempt);
                if let Some(preempt) = settings {
                    let session = claim.spec.session.clone();
                    self.settled.entry(claim.id).or_insert(((now + preempt.settling).into(), session));
                }
            }
            (_, Some(Transfer { started, drain, .. }))
                if self.drains.get(&claim.id).is_none_or(|(known, _)| known != started) =>
            {
                self.start_drain(claim.id, *started, *drain, now);
            }
            _ => {}
        }
    }

    fn start_drain(&mut self, claim: Revision, started: Revision, drain: Duration, now: Tick) {
        let at = (now + drain).into();
        self.drains.insert(claim, (started, at));
        self.timers.set(at, Timer::Transfer(claim));
    }

    fn schedule_preemptions(&mut self, names: &[Text], table: &Table, now: Tick) {
        for name in names {
            self.schedule_preemption(name, table, now);
        }
    }

    /// Sets the timer of the first waiter of a lock, if it may preempt the holder and is at home here.
    fn schedule_preemption(&mut self, name: &str, table: &Table, now: Tick) {
        let Some(preempt) = table.settings(name).and_then(|settings| settings.preempt) else { return };
        let first = table.lock(name).and_then(|lock| table.claim(lock.waiters().first()?.1));
        let Some(first) = first.filter(|first| self.sessions.contains_key(&first.spec.session)) else { return };
        if table.preemptible(first).is_some() {
            let session = first.spec.session.clone();
            let (settled, _) = *self.settled.entry(first.id).or_insert(((now + preempt.settling).into(), session));
            self.timers.set(settled, Timer::Preempt(first.id));
        }
    }

    /// The holder did not confirm: the waiter that is to preempt it must settle anew.
    fn restart_settling(&mut self, name: &str, table: &Table, now: Tick) {
        let Some(preempt) = table.settings(name).and_then(|settings| settings.preempt) else { return };
        let first = table.lock(name).and_then(|lock| lock.waiters().first());
        if let Some((settled, _)) = first.and_then(|first| self.settled.get_mut(&first.1)) {
            *settled = (now + preempt.settling.max(TRY_AGAIN)).into();
        }
    }

    /// A caller has reconnected for a waiter, which may have settled meanwhile.
    pub(super) fn reschedule_preemption(&mut self, claim: Revision) {
        if let Some((settled, _)) = self.settled.get(&claim) {
            self.timers.set(*settled, Timer::Preempt(claim));
        }
    }

    pub(super) fn transfer_due(&self, claim: Revision) -> Option<Command> {
        let (started, _) = *self.drains.get(&claim)?;
        Some(Command::EndTransfer { claim, started, home: self.me })
    }

    /// A waiter without a caller at present must not preempt a holder that uses the lock.
    pub(super) fn preempt_due(&self, claim: Revision) -> Option<Command> {
        let is_of_disconnected = |(_, session): &(Nanos, Text)| self.is_of_disconnected(session);
        let has_caller = !self.is_abandoned(claim) && !self.settled.get(&claim).is_some_and(is_of_disconnected);
        has_caller.then_some(Command::Preempt { claim, home: self.me })
    }
}
