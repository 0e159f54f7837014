//! Counts audit lines that are lost or left out.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tenure_core::Text;

use super::Actor;
use crate::auth::metrics::AuditLines;

/// The maximum number of denial lines per second for one identity at one address, which may retry at any rate. Each
/// source has its own budget, so that no flood hides the attempts of another.
const REFUSALS: u64 = 50;

/// The maximum number of denial lines per second for unidentified callers, who may use any number of addresses.
const UNIDENTIFIED: u64 = 200;

/// The maximum number of sources that are tracked per second. Denials of further sources are only counted.
const SOURCES: usize = 10_000;

const SECOND: Duration = Duration::from_secs(1);

/// Counts unwritten lines.
#[derive(Default)]
pub(super) struct Tally {
    lost: AtomicU64,
    refusals: Mutex<Refusals>,
    counts: AuditLines,
}

/// An identity, if known, and an address, if known.
type Source = (Option<Text>, Option<IpAddr>);

/// Denials of the current second.
#[derive(Default)]
struct Refusals {
    since: Option<Instant>,
    written: HashMap<Source, u64>,
    unidentified: u64,
    /// Includes earlier seconds, until the next `sum_up`.
    left_out: u64,
}

/// The number of lines that were not written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    /// Lines for which the queue had no room, or which could not be written.
    pub(super) lost: u64,
    /// Denials of a flood.
    pub(super) left_out: u64,
}

impl Tally {
    /// Creates a tally that also counts lost lines in `counts`.
    pub(super) fn counting(counts: AuditLines) -> Self {
        Self { counts, ..Self::default() }
    }

    /// Counts lines as lost.
    pub(super) fn lost(&self, lines: usize) {
        self.lost.fetch_add(lines as u64, Ordering::Relaxed);
        self.counts.lost.inc_by(lines as u64);
    }

    /// Whether a denial of this actor is to be written; otherwise it is counted as left out.
    pub(super) fn admits_refusal(&self, actor: Actor<'_>, now: Instant) -> bool {
        let mut refusals = self.refusals();
        if refusals.is_over(now) {
            refusals.since = Some(now);
            refusals.written.clear();
            refusals.unidentified = 0;
        }
        let is_admitted = refusals.admit(actor);
        if !is_admitted {
            refusals.left_out += 1;
        }
        is_admitted
    }

    /// Takes the counts to report now. They count as reported unless they are [taken back](Self::take_back).
    pub(super) fn sum_up(&self, now: Instant) -> Sums {
        let mut refusals = self.refusals();
        let left_out = if refusals.is_over(now) { std::mem::take(&mut refusals.left_out) } else { 0 };
        Sums { lost: self.lost.swap(0, Ordering::Relaxed), left_out }
    }

    /// Restores counts that could not be reported.
    pub(super) fn take_back(&self, sums: Sums) {
        self.lost.fetch_add(sums.lost, Ordering::Relaxed);
        self.refusals().left_out += sums.left_out;
    }

    fn refusals(&self) -> MutexGuard<'_, Refusals> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Refusals {
    /// Counts a denial of this actor if its budget allows it; returns whether it does.
    fn admit(&mut self, actor: Actor<'_>) -> bool {
        if actor.identity.is_none() && self.unidentified >= UNIDENTIFIED {
            return false;
        }
        let source = (actor.identity.map(Text::from), actor.address.map(|address| address.ip()));
        let is_full = self.written.len() >= SOURCES;
        let written = match self.written.entry(source) {
            Entry::Vacant(_) if is_full => return false,
            entry => entry.or_default(),
        };
        if *written >= REFUSALS {
            return false;
        }
        *written += 1;
        self.unidentified += u64::from(actor.identity.is_none());
        true
    }

    fn is_over(&self, now: Instant) -> bool {
        self.since.is_none_or(|since| now.saturating_duration_since(since) >= SECOND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn actor(identity: Option<&str>, host: u8) -> Actor<'_> {
        Actor { identity, address: Some(([10, 0, 0, host], 1).into()) }
    }

    #[test]
    fn rejections_past_the_limit_are_summed_up_even_if_no_other_follows() {
        let (tally, start) = (Tally::default(), Instant::now());
        let ann = actor(Some("token:ann"), 1);
        let written = (0..REFUSALS + 70).filter(|_| tally.admits_refusal(ann, start)).count();
        assert_eq!(written as u64, REFUSALS);
        assert_eq!(tally.sum_up(start), Sums::default(), "its second has not passed");
        let sums = Sums { lost: 0, left_out: 70 };
        assert_eq!((tally.sum_up(start + SECOND), tally.sum_up(start + SECOND)), (sums, Sums::default()));
        assert!(tally.admits_refusal(ann, start + SECOND));
    }

    #[test]
    fn rejections_of_one_identity_and_address_suppress_no_others() {
        let (tally, now) = (Tally::default(), Instant::now());
        let flood = |identity, host, refusals| {
            (0..refusals).filter(|_| tally.admits_refusal(actor(identity, host), now)).count()
        };
        let written: usize = (0..100).map(|host| flood(None, host, 100)).sum();
        assert_eq!((written as u64, flood(Some("token:ann"), 1, 1_000) as u64), (UNIDENTIFIED, REFUSALS));
        assert!(tally.admits_refusal(actor(Some("token:bob"), 1), now), "another identity");
        assert!(tally.admits_refusal(actor(Some("token:ann"), 2), now), "another address");
        assert!(!tally.admits_refusal(actor(None, 200), now), "unidentified callers together");
        let left_out = tally.sum_up(now + SECOND).left_out;
        assert_eq!(left_out, 100 * 100 - UNIDENTIFIED + 1_000 - REFUSALS + 1);
    }

    #[test]
    fn lost_lines_are_counted_in_a_later_line() {
        let (tally, now) = (Tally::default(), Instant::now());
        tally.lost(1);
        let sums = tally.sum_up(now);
        tally.take_back(sums);
        assert_eq!((sums.lost, tally.sum_up(now)), (1, sums));
    }
}
