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
}

impl Totals {
    /// The total that includes a claim.
    pub(super) fn of(&mut self, claim: &Claim) -> Option<&mut usize> {
        match claim.state {
            ClaimState::Waiting => Some(&mut self.waiters),
            ClaimState::Held { .. } => Some(&mut self.holds),
            ClaimState::Lingering { .. } => None,
        }
    }
}
