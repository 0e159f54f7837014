//! Timers, in the order of their expiry.

use std::collections::BTreeSet;

use super::nanos::Nanos;
use crate::model::Revision;
use crate::names::Text;

/// The subject of a timer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    Session(Text),
    Client(Text),
    Lingering(Revision),
    Abandoned(Revision),
    /// The deadline for a holder's confirmation.
    Transfer(Revision),
    /// The moment at which a waiter is settled.
    Preempt(Revision),
}

#[derive(Debug, Default)]
pub(super) struct Timers(BTreeSet<(Nanos, Timer)>);

impl Timers {
    pub(super) fn set(&mut self, at: Nanos, timer: Timer) {
        self.0.insert((at, timer));
    }

    /// Removes a timer. A stale timer that is not removed expires without effect.
    pub(super) fn unset(&mut self, at: Nanos, timer: Timer) {
        self.0.remove(&(at, timer));
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn next(&self) -> Option<Nanos> {
        self.0.first().map(|(at, _)| *at)
    }

    /// Removes and returns the next timer, if it expires at or before `now`.
    pub(super) fn expire(&mut self, now: Nanos) -> Option<(Nanos, Timer)> {
        self.next().filter(|at| *at <= now)?;
        self.0.pop_first()
    }
}
