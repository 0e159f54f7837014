//! Replaying: deciding what was passed once more, where it was decided.

use std::sync::Arc;

use tenure_core::{Event, Recorded, Revision};

use crate::sequencer::batch::{Decision, registrations};
use crate::sequencer::run::Sequencer;
use crate::sequencer::work::Work;
use crate::store::Batch;

/// Work that was decided elsewhere, and the revision that each of its commands was decided at.
pub(super) struct Due {
    pub(super) work: Work,
    pub(super) places: Vec<Revision>,
    /// The revision that the log was at then, or later.
    pub(super) at: Revision,
}

impl Sequencer {
    /// Takes over a batch that goes on where the table stands, deciding on the way what was passed, and answers it.
    pub(super) fn replay(&mut self, batch: Arc<Batch>, due: Vec<Due>) {
        let mut left = batch.events.as_slice();
        let mut others = false;
        let mut decided = Vec::with_capacity(due.len());
        for Due { work, places, .. } in due {
            let decisions = self.decide_at(&work, &places, &mut left, &mut others);
            decided.push((work, decisions));
        }
        others |= !left.is_empty();
        left.iter().for_each(|recorded| self.replica.apply_event(recorded));
        self.passing.alone = if others { 0 } else { self.passing.alone + 1 };
        let callers =
            decided.iter().flat_map(|(work, decisions)| registrations(work, decisions.as_deref().unwrap_or_default()));
        let mut pending = self.replica.committed(batch, callers).into_iter();
        for (work, decisions) in decided {
            let pending = pending.by_ref().take(decisions.as_ref().map_or(0, Vec::len)).collect();
            match decisions {
                Some(decisions) if self.passing.owed.is_none() => self.reply(work, decisions, pending),
                _ => self.decide_late(work),
            }
        }
        if self.passing.owed.is_some() {
            // What came after it must not go before it.
            self.passing.take_back();
        }
    }

    /// Decides each command at its place among the events that are `left` of the batch. `None` if other events come of it.
    fn decide_at(
        &mut self,
        work: &Work,
        places: &[Revision],
        left: &mut &[Recorded],
        others: &mut bool,
    ) -> Option<Vec<Decision>> {
        let mut decisions = Vec::with_capacity(places.len());
        let mut made = Vec::new();
        for ((request, _), place) in work.requests.iter().zip(places) {
            while self.replica.table.revision() < *place
                && let Some((next, rest)) = left.split_first()
            {
                self.replica.apply_event(next);
                *left = rest;
                *others = true;
            }
            let table = &mut self.replica.table;
            let before = table.revision();
            if before != *place {
                return None;
            }
            made.clear();
            let outcome = table.decide(request.clone(), &mut made);
            let Some((_, rest)) = left.split_at_checked(made.len()).filter(|(logged, _)| agree(&mut made, logged))
            else {
                table.undo();
                return None;
            };
            table.commit();
            *left = rest;
            decisions.push(Decision { outcome, before, after: table.revision() });
        }
        Some(decisions)
    }

    /// Decides work that has been decided elsewhere, as if it were asked for again. What yields events now is new.
    pub(super) fn decide_late(&mut self, work: Work) {
        let mut events = Vec::new();
        let decisions = self.decide_all(&work, &mut events);
        if events.is_empty() && self.passing.owed.is_none() {
            self.replica.table.commit();
            self.reply_without_events(work, decisions);
        } else {
            self.replica.table.undo();
            self.passing.owe(work);
        }
    }
}

/// Whether the same events were decided here as are in the log, which also tells what only other homes know.
fn agree(made: &mut [Recorded], logged: &[Recorded]) -> bool {
    for (made, logged) in made.iter_mut().zip(logged) {
        if let (
            Event::ClaimLingering { longest_pause: here, .. }
            | Event::ClaimEnded { longest_pause: here, .. }
            | Event::ClaimTransferred { longest_pause: here, .. },
            Event::ClaimLingering { longest_pause: there, .. }
            | Event::ClaimEnded { longest_pause: there, .. }
            | Event::ClaimTransferred { longest_pause: there, .. },
        ) = (&mut made.event, &logged.event)
        {
            *here = *there;
        }
    }
    made == logged
}
