//! Timers: what is due when.

use std::collections::BTreeSet;

use super::nanos::Nanos;
use crate::model::Revision;
use crate::names::Text;

/// What something is due for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    Session(Text),
    Lingering(Revision),
    Unattended(Revision),
    /// A holder is to have confirmed.
    Transfer(Revision),
    /// A waiter is to have settled.
    Preempt(Revision),
}

/// Timers that have been set.
#[derive(Debug, Default)]
pub(super) struct Timers(BTreeSet<(Nanos, Timer)>);

impl Timers {
    pub(super) fn set(&mut self, at: Nanos, timer: Timer) {
        self.0.insert((at, timer));
    }

    /// Takes a timer back. One that is not taken back when it does not count any more rings in vain.
    pub(super) fn unset(&mut self, at: Nanos, timer: Timer) {
        self.0.remove(&(at, timer));
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// When the next one rings.
    pub(super) fn next(&self) -> Option<Nanos> {
        self.0.first().map(|(at, _)| *at)
    }

    /// The next one, if it rings `now` or has before.
    pub(super) fn expire(&mut self, now: Nanos) -> Option<(Nanos, Timer)> {
        self.next().filter(|at| *at <= now)?;
        self.0.pop_first()
    }
}
