//! Totals of a namespace, counted incrementally.

use crate::model::{Claim, ClaimState};
use crate::table::Table;

/// The amounts of state in a namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Open sessions.
    pub sessions: usize,
    /// Locks that are held, or whose last hold's minimum has not passed.
    pub locks: usize,
    /// Held claims. Several may hold one lock, and one may hold several.
    pub holds: usize,
    /// Waiting claims.
    pub waiters: usize,
    /// Groups.
    pub groups: usize,
    /// Members of groups.
    pub members: usize,
}

impl Table {
    /// The totals, without iterating over the state.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let (sessions, locks, groups) = (self.sessions.len(), self.locks.taken(), self.groups.len());
        Totals { sessions, locks, groups, ..self.counted }
    }

    /// Counts a new claim.
    pub(super) fn count_in(&mut self, claim: &Claim) {
        if let Some(count) = self.count_of(claim) {
            *count += 1;
        }
    }

    /// The reverse of [`Self::count_in`].
    pub(super) fn count_out(&mut self, claim: &Claim) {
        if let Some(count) = self.count_of(claim) {
            *count -= 1;
        }
    }

    fn count_of(&mut self, claim: &Claim) -> Option<&mut usize> {
        match claim.state {
            ClaimState::Waiting => Some(&mut self.counted.waiters),
            ClaimState::Held { .. } => Some(&mut self.counted.holds),
            ClaimState::Lingering { .. } => None,
        }
    }
}
