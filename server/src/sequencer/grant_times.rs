//! When each hold was granted, which the log may drop while the hold lasts. For display only: the table contains no
//! time, and no decision depends on it.

use tenure_core::{Ascending, Claim, Event, Revision, Table};

use crate::store::Batch;

/// A token, and the timestamp of the batch that granted it, in ms since 1970.
type Granted = (Revision, i64);

/// The grant timestamps of all claims that have a token, by token.
#[derive(Debug, Default)]
pub(super) struct GrantTimes(Ascending<Granted>);

impl GrantTimes {
    /// Grant times from the rows, in any order.
    pub(super) fn loaded(mut granted: Vec<Granted>) -> Self {
        granted.sort_unstable();
        granted.dedup_by_key(|(token, _)| *token);
        let mut times = Ascending::default();
        granted.into_iter().for_each(|entry| times.insert(entry));
        Self(times)
    }

    /// Applies a committed batch.
    pub(super) fn apply(&mut self, batch: &Batch) {
        for recorded in &batch.events {
            match &recorded.event {
                Event::ClaimGranted { .. } => self.0.insert((recorded.revision, batch.at_ms)),
                Event::ClaimTransferred { from_token, .. } => {
                    self.0.remove(from_token);
                    self.0.insert((recorded.revision, batch.at_ms));
                }
                Event::ClaimEnded { token: Some(token), .. } => {
                    self.0.remove(token);
                }
                _ => {}
            }
        }
    }

    /// When the claim was granted, if it was and that is known.
    pub(super) fn of(&self, claim: &Claim) -> Option<i64> {
        self.0.get(&claim.token()?).copied()
    }
}

/// A reader's view of a namespace: the table, and the display data kept beside it.
pub struct View<'a> {
    /// The table.
    pub table: &'a Table,
    pub(super) granted: &'a GrantTimes,
}

impl View<'_> {
    /// When a claim was granted, in ms since 1970, by the clock of the server that appended the grant. `None` while it
    /// waits, or if unknown.
    #[must_use]
    pub fn granted_ms(&self, claim: &Claim) -> Option<i64> {
        self.granted.of(claim)
    }
}
