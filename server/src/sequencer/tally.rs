//! The tally: counts what this server appends, and the totals of the namespace.

use std::collections::HashSet;

use tenure_core::{ClaimSpec, EndReason, Event, Mode, Recent, Recorded, Revision, ServerId, Table, Text, Totals};
use tokio::sync::watch;

use super::metrics::{Counts, Way};
use crate::store::Batch;

/// Number of locks whose last holder is remembered.
const REMEMBERED: usize = 4_096;

/// The counters of a namespace. It follows the whole log, since the meaning of the counted events depends on others.
pub(super) struct Tally {
    me: ServerId,
    counts: Counts,
    /// The totals of the namespace, and their revision.
    totals: watch::Sender<(Totals, Revision)>,
    /// The claims whose holds have ended, but whose minimum hold has not.
    lingering: HashSet<Revision>,
    last: LastHolds,
}

impl Tally {
    pub(super) fn new(me: ServerId, counts: Counts) -> Self {
        let totals = watch::Sender::default();
        Self { me, counts, totals, lingering: HashSet::new(), last: LastHolds::default() }
    }

    pub(super) fn totals(&self) -> watch::Receiver<(Totals, Revision)> {
        self.totals.subscribe()
    }

    /// Restarts from a table.
    pub(super) fn reset(&mut self, table: &Table) {
        self.lingering = table.claims().filter(|claim| claim.lingers()).map(|claim| claim.id).collect();
        self.totals.send_replace((table.totals(), table.revision()));
    }

    /// Counts a committed batch; `table` shows the state after it.
    pub(super) fn apply(&mut self, batch: &Batch, table: &Table) {
        let is_own = batch.server == self.me;
        for recorded in &batch.events {
            self.count(recorded, is_own);
        }
        self.totals.send_replace((table.totals(), table.revision()));
    }

    fn count(&mut self, recorded: &Recorded, is_own: bool) {
        let counts = is_own.then_some(&self.counts);
        match (&recorded.event, counts) {
            (Event::ClaimGranted { claim, spec }, _) => {
                let way = if *claim == recorded.revision { Way::AtOnce } else { Way::Wait };
                self.last.granted(spec, way, counts);
            }
            (Event::ClaimTransferred { from_spec, spec, .. }, _) => {
                self.last.ended(from_spec, EndReason::Transferred, counts);
                self.last.granted(spec, Way::Transfer, counts);
            }
            (Event::ClaimLingering { claim, spec, reason, .. }, _) => {
                self.lingering.insert(*claim);
                self.last.ended(spec, *reason, counts);
            }
            (Event::ClaimEnded { claim, token: Some(_), spec, reason, .. }, _) => {
                // The end of lingering is not the end of the hold, which has been counted.
                let lingered = !self.lingering.is_empty() && self.lingering.remove(claim);
                if !lingered {
                    self.last.ended(spec, *reason, counts);
                }
            }
            (Event::ClaimEnded { token: None, reason, .. }, Some(counts)) => counts.waits_ended.count(*reason),
            (Event::SessionOpened(_), Some(counts)) => {
                counts.sessions_opened.inc();
            }
            (Event::SessionEnded { reason, .. }, Some(counts)) => counts.sessions_ended.count(*reason),
            (Event::ServerAdopted { .. }, Some(counts)) => {
                counts.adoptions.inc();
            }
            (Event::HistoryLost { .. }, Some(counts)) => {
                counts.losses.inc();
            }
            _ => {}
        }
    }
}

/// How the last hold of a lock ended.
struct LastHold {
    /// The revision that opened the session of the hold.
    opened: Revision,
    reason: EndReason,
}

/// The last holds of exclusive locks, as far as remembered.
#[derive(Default)]
struct LastHolds(Recent<Text, LastHold, REMEMBERED>);

impl LastHolds {
    fn granted(&self, spec: &ClaimSpec, way: Way, counts: Option<&Counts>) {
        let Some(counts) = counts else { return };
        counts.granted(way);
        if spec.mode == Mode::Exclusive {
            let last = spec.names.iter().filter_map(|name| self.0.get(name));
            last.filter(|last| last.opened != spec.opened).for_each(|last| counts.holder_changes.count(last.reason));
        }
    }

    fn ended(&mut self, spec: &ClaimSpec, reason: EndReason, counts: Option<&Counts>) {
        if let Some(counts) = counts {
            counts.holds_ended.count(reason);
        }
        if spec.mode == Mode::Exclusive {
            spec.names.iter().for_each(|name| self.0.insert(name, LastHold { opened: spec.opened, reason }));
        }
    }
}
