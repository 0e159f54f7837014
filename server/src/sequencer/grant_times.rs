//! When each hold was granted, which the log may drop while the hold lasts. For display only: the table contains no
//! time, and no decision depends on it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenure_core::{Claim, Event, Revision, Table};

use crate::store::Batch;

/// Entries per block.
const BLOCK: usize = 64;

/// A token, and the timestamp of the batch that granted it, in ms since 1970.
type Granted = (Revision, i64);

/// The grant timestamps of all claims that have a token, by token. In sorted blocks, since tokens only increase and
/// holds end in any order: normally 17 bytes per hold, and no allocation of its own.
#[derive(Debug, Default)]
pub(super) struct GrantTimes {
    /// Full blocks, from which entries may have been removed since, by the first token each had. None is empty.
    blocks: BTreeMap<Revision, Vec<Granted>>,
    newest: Vec<Granted>,
}

impl GrantTimes {
    /// Grant times from the rows, in any order.
    pub(super) fn loaded(mut granted: Vec<Granted>) -> Self {
        granted.sort_unstable();
        granted.dedup_by_key(|(token, _)| *token);
        let mut times = Self::default();
        granted.into_iter().for_each(|(token, at_ms)| times.insert(token, at_ms));
        times
    }

    /// Applies a committed batch.
    pub(super) fn apply(&mut self, batch: &Batch) {
        for recorded in &batch.events {
            match &recorded.event {
                Event::ClaimGranted { .. } => self.insert(recorded.revision, batch.at_ms),
                Event::ClaimTransferred { from_token, .. } => {
                    self.remove(*from_token);
                    self.insert(recorded.revision, batch.at_ms);
                }
                Event::ClaimEnded { token: Some(token), .. } => self.remove(*token),
                Event::ClaimEnded { token: None, .. }
                | Event::ClaimQueued(_)
                | Event::ClaimAwaited { .. }
                | Event::AcquireCancelled { .. }
                | Event::ClaimUpdated { .. }
                | Event::ClaimLingering { .. }
                | Event::TransferStarted { .. }
                | Event::TransferCancelled { .. }
                | Event::LockConfigured { .. }
                | Event::Group { .. }
                | Event::SessionOpened(_)
                | Event::SessionAttached { .. }
                | Event::SessionEnded { .. }
                | Event::ServerAdopted { .. }
                | Event::PassesVoided { .. }
                | Event::HistoryLost { .. } => {}
            }
        }
    }

    /// When the claim with this token was granted, if known.
    pub(super) fn get(&self, token: Revision) -> Option<i64> {
        let block = match self.newest.first() {
            Some((first, _)) if *first <= token => &self.newest,
            _ => self.blocks.range(..=token).next_back()?.1,
        };
        index(block, token).map(|index| block[index].1)
    }

    /// Adds a token that is higher than all previous ones.
    fn insert(&mut self, token: Revision, at_ms: i64) {
        if self.newest.len() == BLOCK {
            let full = std::mem::replace(&mut self.newest, Vec::with_capacity(BLOCK));
            self.blocks.insert(full[0].0, full);
        }
        self.newest.push((token, at_ms));
    }

    fn remove(&mut self, token: Revision) {
        if self.newest.first().is_some_and(|(first, _)| *first <= token) {
            if let Some(index) = index(&self.newest, token) {
                self.newest.remove(index);
            }
            return;
        }
        let Some((from, block)) = self.blocks.range_mut(..=token).next_back() else { return };
        let from = *from;
        let Some(index) = index(block, token) else { return };
        block.remove(index);
        if block.is_empty() {
            self.blocks.remove(&from);
        } else if block.len() <= block.capacity() / 2 {
            block.shrink_to_fit();
        }
    }
}

fn index(block: &[Granted], token: Revision) -> Option<usize> {
    block.binary_search_by_key(&token, |(at, _)| *at).ok()
}

/// Grant times shared with readers, which the sequencer runs only while it does nothing else, so the lock is never held
/// for long.
#[derive(Clone, Default)]
pub(super) struct SharedGrantTimes(Arc<Mutex<GrantTimes>>);

impl SharedGrantTimes {
    pub(super) fn lock(&self) -> MutexGuard<'_, GrantTimes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The grant timestamps of these claims, as far as known.
    pub(super) fn of<'a>(&self, claims: impl IntoIterator<Item = &'a Claim>) -> Vec<Granted> {
        let times = self.lock();
        let granted = |claim: &Claim| claim.token().and_then(|token| Some((token, times.get(token)?)));
        claims.into_iter().filter_map(granted).collect()
    }
}

/// A reader's view of a namespace: the table, and the display data kept beside it.
pub struct View<'a> {
    /// The table.
    pub table: &'a Table,
    granted: MutexGuard<'a, GrantTimes>,
}

impl<'a> View<'a> {
    pub(super) fn new(table: &'a Table, granted: &'a SharedGrantTimes) -> Self {
        Self { table, granted: granted.lock() }
    }

    /// When a claim was granted, in ms since 1970, by the clock of the server that appended the grant. `None` while it
    /// waits, or if unknown.
    #[must_use]
    pub fn granted_ms(&self, claim: &Claim) -> Option<i64> {
        claim.token().and_then(|token| self.granted.get(token))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(times: &GrantTimes) -> usize {
        let entries: usize = times.blocks.values().chain([&times.newest]).map(Vec::capacity).sum();
        // A node of the tree is at least half full.
        let of_blocks = times.blocks.len() * 2 * size_of::<(Revision, Vec<Granted>)>();
        entries * size_of::<Granted>() + of_blocks
    }

    fn filled(tokens: impl Iterator<Item = u64>) -> GrantTimes {
        GrantTimes::loaded(tokens.map(|token| (Revision(token), -1)).collect())
    }

    #[test]
    fn a_million_holds_take_less_than_18_bytes_each() {
        let taken = memory(&filled((1..=1_000_000).map(|number| number * 3)));
        assert!(taken < 18_000_000, "{taken}");
    }

    #[test]
    fn holds_that_are_left_of_many_take_less_than_24_bytes_each() {
        let mut times = filled(1..=1_000_000);
        (1..=1_000_000).filter(|token| token % 4 != 0).for_each(|token| times.remove(Revision(token)));
        let taken = memory(&times);
        assert!(taken < 250_000 * 24, "{taken}");
    }

    #[test]
    fn nothing_is_left_of_holds_that_ended() {
        let mut times = filled(1..=1_000);
        (1..=1_000).rev().for_each(|token| times.remove(Revision(token)));
        assert!(times.blocks.is_empty() && times.newest.is_empty());
    }

    #[test]
    fn is_a_sorted_map() {
        let (mut times, mut plain, mut next, mut random) = (GrantTimes::default(), BTreeMap::new(), 0, 1_u64);
        for _ in 0..3_000 {
            // Knuth's constants: the upper bits are as good as random.
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let number = random >> 33;
            if number % 5 < 3 {
                next += 1 + number % 3;
                times.insert(Revision(next), number.cast_signed());
                plain.insert(next, number.cast_signed());
            } else {
                // Mostly an existing token, else one that never existed or was removed.
                let token = plain.range(number % (next + 2)..).next().map_or(number, |(token, _)| *token);
                times.remove(Revision(token));
                plain.remove(&token);
                assert_eq!(times.get(Revision(token)), None);
            }
        }
        assert!(plain.len() > 2 * BLOCK);
        assert!((0..=next + 1).all(|token| times.get(Revision(token)) == plain.get(&token).copied()));
    }
}
