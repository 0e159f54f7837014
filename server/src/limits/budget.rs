//! Budgets: bounds on the bytes that one kind of buffer takes in this server, for all callers together.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::metrics::Buffer;

/// A budget. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    bytes: Arc<Semaphore>,
    counts: Buffer,
}

/// Bytes taken from a budget until dropped.
#[derive(Debug)]
pub(crate) struct Share {
    permit: OwnedSemaphorePermit,
    counts: Buffer,
}

impl Budget {
    pub(crate) fn new(limit: usize, counts: Buffer) -> Self {
        counts.limit.set(i64::try_from(limit).unwrap_or(i64::MAX));
        Self { bytes: Arc::new(Semaphore::new(limit)), counts }
    }

    /// Takes bytes from the budget. `None` if fewer are left.
    pub(crate) fn try_take(&self, bytes: usize) -> Option<Share> {
        let permits = u32::try_from(bytes).unwrap_or(u32::MAX);
        let Ok(permit) = self.bytes.clone().try_acquire_many_owned(permits) else {
            self.counts.refused.inc();
            return None;
        };
        let share = Share { permit, counts: self.counts.clone() };
        share.counts.bytes.inc_by(share.count());
        Some(share)
    }
}

impl Share {
    fn count(&self) -> i64 {
        self.permit.num_permits().try_into().unwrap_or(i64::MAX)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.permit.num_permits()
    }

    /// Takes more bytes from the same budget. `false` if fewer are left.
    pub(crate) fn try_grow(&mut self, budget: &Budget, bytes: usize) -> bool {
        let more = budget.try_take(bytes).and_then(|mut more| more.permit.split(more.bytes()));
        more.map(|more| self.permit.merge(more)).is_some()
    }

    /// Returns all but this many bytes to the budget.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        let spare = self.bytes().saturating_sub(bytes);
        if let Some(permit) = self.permit.split(spare) {
            self.counts.bytes.dec_by(spare.try_into().unwrap_or(i64::MAX));
            drop(permit);
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.counts.bytes.dec_by(self.count());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_bounded_and_returned() {
        let counts = Buffer::default();
        let budget = Budget::new(100, counts.clone());
        let mut first = budget.try_take(60).expect("within the budget");
        assert!(budget.try_take(60).is_none(), "40 are left");
        assert_eq!((counts.bytes.get(), counts.refused.get(), counts.limit.get()), (60, 1, 100));
        assert!(first.try_grow(&budget, 40) && !first.try_grow(&budget, 1), "40 are left");
        assert_eq!((first.bytes(), counts.bytes.get(), counts.refused.get()), (100, 100, 2));
        first.shrink_to(10);
        assert_eq!((first.bytes(), counts.bytes.get()), (10, 10));
        let second = budget.try_take(90).expect("within the budget");
        drop((first, second));
        assert_eq!(counts.bytes.get(), 0);
    }
}
