//! What has no line of its own is counted.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::metrics::AuditLines;

/// The most lines about refusals in a second: whoever is refused may try as often as it likes.
const REFUSALS: u64 = 200;

const SECOND: Duration = Duration::from_secs(1);

/// Counts lines: those that wait, and those that are not written.
#[derive(Default)]
pub(super) struct Tally {
    waiting: AtomicUsize,
    lost: AtomicU64,
    refusals: Mutex<Refusals>,
    counts: AuditLines,
}

/// Refusals of this second.
#[derive(Default)]
struct Refusals {
    since: Option<Instant>,
    written: u64,
    /// Of seconds before, too, until somebody sums them up.
    left_out: u64,
}

/// What is to be told of those that have no line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    /// There was no room for these, or they could not be written.
    pub(super) lost: u64,
    /// These were refusals of a flood.
    pub(super) left_out: u64,
}

impl Tally {
    /// One that also counts here what is lost.
    pub(super) fn counting(counts: AuditLines) -> Self {
        Self { counts, ..Self::default() }
    }

    /// One more line waits.
    pub(super) fn told(&self) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
    }

    /// So many wait no more: they are written.
    pub(super) fn written(&self, lines: usize) {
        self.waiting.fetch_sub(lines, Ordering::Release);
    }

    /// So many wait no more, and are not written.
    pub(super) fn lost(&self, lines: usize) {
        self.lost.fetch_add(lines as u64, Ordering::Relaxed);
        self.counts.lost.inc_by(lines as u64);
        self.written(lines);
    }

    /// Whether any wait.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > 0
    }

    /// Whether one more refusal is to be written.
    pub(super) fn admits_refusal(&self, now: Instant) -> bool {
        let mut refusals = self.refusals();
        if refusals.is_over(now) {
            (refusals.since, refusals.written) = (Some(now), 0);
        }
        let is_admitted = refusals.written < REFUSALS;
        if is_admitted {
            refusals.written += 1;
        } else {
            refusals.left_out += 1;
        }
        is_admitted
    }

    /// What is to be told now. It counts as told, unless it is [taken back](Self::take_back).
    pub(super) fn sum_up(&self, now: Instant) -> Sums {
        let mut refusals = self.refusals();
        let left_out = if refusals.is_over(now) { std::mem::take(&mut refusals.left_out) } else { 0 };
        Sums { lost: self.lost.swap(0, Ordering::Relaxed), left_out }
    }

    /// It could not be told.
    pub(super) fn take_back(&self, sums: Sums) {
        self.lost.fetch_add(sums.lost, Ordering::Relaxed);
        self.refusals().left_out += sums.left_out;
    }

    fn refusals(&self) -> MutexGuard<'_, Refusals> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Refusals {
    fn is_over(&self, now: Instant) -> bool {
        self.since.is_none_or(|since| now.saturating_duration_since(since) >= SECOND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_refusals_is_summed_up_also_if_it_was_the_last() {
        let (tally, start) = (Tally::default(), Instant::now());
        let written = (0..REFUSALS + 70).filter(|_| tally.admits_refusal(start)).count();
        assert_eq!(written as u64, REFUSALS);
        assert_eq!(tally.sum_up(start), Sums::default(), "its second is not over");
        let sums = Sums { lost: 0, left_out: 70 };
        assert_eq!((tally.sum_up(start + SECOND), tally.sum_up(start + SECOND)), (sums, Sums::default()));
        assert!(tally.admits_refusal(start + SECOND));
    }

    #[test]
    fn what_could_not_be_told_is_told_later() {
        let (tally, now) = (Tally::default(), Instant::now());
        tally.told();
        tally.lost(1);
        let sums = tally.sum_up(now);
        tally.take_back(sums);
        assert_eq!((sums.lost, tally.sum_up(now)), (1, sums));
        assert!(!tally.is_waiting());
    }
}
