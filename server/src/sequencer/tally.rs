//! The tally: counts what this server appends, and the totals of the namespace.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::fast::FixedState;
use tenure_core::{ClaimSpec, EndReason, Event, Mode, Recorded, Revision, ServerId, Table, Text, Totals};

use super::metrics::{Counts, Way};
use crate::store::Batch;

/// Number of locks whose last holder is remembered.
const REMEMBERED: usize = 4_096;

/// The totals of the namespace, and their revision.
#[derive(Clone, Default)]
pub(super) struct SharedTotals(Arc<Mutex<(Totals, Revision)>>);

impl SharedTotals {
    pub(super) fn get(&self) -> Totals {
        self.lock().0
    }

    pub(super) fn revision(&self) -> Revision {
        self.lock().1
    }

    fn lock(&self) -> MutexGuard<'_, (Totals, Revision)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The counters of a namespace. It follows the whole log, since the meaning of the counted events depends on others.
pub(super) struct Tally {
    me: ServerId,
    counts: Counts,
    totals: SharedTotals,
    /// The claims whose holds have ended, but whose minimum hold has not.
    lingering: HashSet<Revision>,
    last: LastHolders,
}

impl Tally {
    pub(super) fn new(me: ServerId, counts: Counts) -> Self {
        Self { me, counts, totals: SharedTotals::default(), lingering: HashSet::new(), last: LastHolders::default() }
    }

    pub(super) fn totals(&self) -> SharedTotals {
        self.totals.clone()
    }

    /// Restarts from a table.
    pub(super) fn reset(&mut self, table: &Table) {
        self.lingering = table.claims().filter(|claim| claim.lingers()).map(|claim| claim.id).collect();
        *self.totals.lock() = (table.totals(), table.revision());
    }

    /// Counts a committed batch; `table` shows the state after it.
    pub(super) fn apply(&mut self, batch: &Batch, table: &Table) {
        let counts = (batch.server == self.me).then(|| self.counts.clone());
        for recorded in &batch.events {
            self.count(recorded, counts.as_ref());
        }
        *self.totals.lock() = (table.totals(), table.revision());
    }

    fn count(&mut self, recorded: &Recorded, counts: Option<&Counts>) {
        match (&recorded.event, counts) {
            (Event::ClaimGranted { claim, spec }, _) => {
                let way = if *claim == recorded.revision { Way::AtOnce } else { Way::Wait };
                self.granted(spec, way, counts);
            }
            (Event::ClaimTransferred { from_spec, spec, .. }, _) => {
                self.hold_ended(from_spec, EndReason::Transferred, counts);
                self.granted(spec, Way::Transfer, counts);
            }
            (Event::ClaimLingering { claim, spec, reason, .. }, _) => {
                self.lingering.insert(*claim);
                self.hold_ended(spec, *reason, counts);
            }
            (Event::ClaimEnded { claim, token: Some(_), spec, reason, .. }, _) => {
                // The end of lingering is not the end of the hold, which has been counted.
                let lingered = !self.lingering.is_empty() && self.lingering.remove(claim);
                if !lingered {
                    self.hold_ended(spec, *reason, counts);
                }
            }
            (Event::ClaimEnded { token: None, reason, .. }, Some(counts)) => counts.locks.wait_ended(*reason),
            (Event::SessionOpened(_), Some(counts)) => counts.sessions.opened(),
            (Event::SessionEnded { reason, .. }, Some(counts)) => counts.sessions.ended(*reason),
            (Event::ServerAdopted { .. }, Some(counts)) => counts.sessions.adopted(),
            (Event::HistoryLost { .. }, Some(counts)) => counts.sessions.lost_history(),
            _ => {}
        }
    }

    fn granted(&mut self, spec: &ClaimSpec, way: Way, counts: Option<&Counts>) {
        let Some(locks) = counts.map(|counts| &counts.locks) else { return };
        locks.granted(way);
        if spec.mode == Mode::Exclusive {
            for name in &spec.names {
                if let Some(last) = self.last.of.get(name).filter(|last| last.opened != spec.opened) {
                    locks.holder_changed(last.reason);
                }
            }
        }
    }

    fn hold_ended(&mut self, spec: &ClaimSpec, reason: EndReason, counts: Option<&Counts>) {
        if let Some(counts) = counts {
            counts.locks.hold_ended(reason);
        }
        if spec.mode == Mode::Exclusive {
            spec.names.iter().for_each(|name| self.last.record(name, LastHold { opened: spec.opened, reason }));
        }
    }
}

/// How the last hold of a lock ended.
#[derive(Clone, Copy)]
struct LastHold {
    /// The revision that opened the session of the hold.
    opened: Revision,
    reason: EndReason,
}

/// The last holds of locks, as far as remembered.
#[derive(Default)]
struct LastHolders {
    of: HashMap<Text, LastHold, FixedState>,
    /// In order of insertion: the oldest is dropped first.
    names: VecDeque<Text>,
}

impl LastHolders {
    fn record(&mut self, name: &Text, hold: LastHold) {
        if let Some(known) = self.of.get_mut(name) {
            *known = hold;
            return;
        }
        if self.names.len() >= REMEMBERED
            && let Some(first) = self.names.pop_front()
        {
            self.of.remove(&first);
        }
        self.of.insert(name.clone(), hold);
        self.names.push_back(name.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(opened: u64) -> LastHold {
        LastHold { opened: Revision(opened), reason: EndReason::Released }
    }

    #[test]
    fn remembered_locks_are_bounded() {
        let mut last = LastHolders::default();
        let name = |number: usize| Text::from(format!("lock/{number}"));
        for number in 0..REMEMBERED {
            last.record(&name(number), hold(1));
        }
        last.record(&name(0), hold(2));
        assert_eq!((last.of.len(), last.names.len()), (REMEMBERED, REMEMBERED));
        assert_eq!(last.of[&name(0)].opened, Revision(2), "the newest hold counts");
        last.record(&name(REMEMBERED), hold(1));
        assert_eq!((last.of.len(), last.names.len()), (REMEMBERED, REMEMBERED));
        assert!(!last.of.contains_key(&name(0)) && last.of.contains_key(&name(1)));
    }
}
