//! Statistics of how late the renewals of a session are. For human readers: no decision depends on them.

use std::mem::replace;

use super::nanos::Nanos;

/// Pauses that differ by less than this fraction of the longer one count as equally long, so that few are kept.
const ALIKE: u64 = 8;

/// Those pauses between a session's renewals that may be the longest of some hold: each ended later and was shorter
/// than the one before.
#[derive(Debug, Default)]
pub(super) struct Pauses {
    /// The pauses before the last one. Most sessions never have any here.
    #[expect(clippy::box_collection, reason = "there are many of them, and nearly all are empty")]
    longer: Option<Box<Vec<Pause>>>,
    last: Pause,
}

#[derive(Clone, Copy, Debug, Default)]
struct Pause {
    end: Nanos,
    length: Nanos,
}

impl Pauses {
    /// Records a renewal at `now`, after a pause.
    pub(super) fn record(&mut self, now: Nanos, length: Nanos) {
        let pause = Pause { end: now, length };
        while self.last.length <= length {
            match self.longer.as_mut().and_then(|longer| longer.pop()) {
                Some(longer) => self.last = longer,
                None => {
                    (self.longer, self.last) = (None, pause);
                    return;
                }
            }
        }
        if self.last.length - length < self.last.length / ALIKE {
            self.last.end = now;
        } else {
            self.longer.get_or_insert_default().push(replace(&mut self.last, pause));
        }
    }

    /// The longest of the pauses that ended after `since`, and of the `running` one. Never less than the true value,
    /// and at most a seventh more.
    pub(super) fn longest_since(&self, since: Nanos, running: Nanos) -> Nanos {
        let mut all = self.longer.iter().flat_map(|longer| longer.iter()).chain([&self.last]);
        all.find(|pause| pause.end > since).map_or(running, |longest| longest.length.max(running))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Nanos {
        std::time::Duration::from_millis(ms).into()
    }

    /// Renewals after each of these pauses, and the moments of the renewals.
    fn renewed(pauses: &[u64]) -> (Pauses, Vec<Nanos>) {
        let mut recorded = Pauses::default();
        let mut now = ms(0);
        let mut moments = Vec::new();
        for pause in pauses {
            now = now + ms(*pause);
            recorded.record(now, ms(*pause));
            moments.push(now);
        }
        (recorded, moments)
    }

    #[test]
    fn longest_pause_is_that_since_the_given_moment() {
        let (recorded, moments) = renewed(&[300, 900, 300, 500, 300, 300]);
        let longest = |after: usize| recorded.longest_since(moments[after], ms(10));
        assert_eq!(recorded.longest_since(ms(0), ms(10)), ms(900));
        assert_eq!(longest(0), ms(900));
        assert_eq!(longest(1), ms(500), "the longest one ended before");
        assert_eq!(longest(3), ms(300));
        assert_eq!(longest(5), ms(10), "none has ended since");
        assert_eq!(recorded.longest_since(moments[1], ms(700)), ms(700), "the current pause counts");
    }

    #[test]
    fn pauses_are_few_and_never_reported_shorter() {
        let pauses: Vec<u64> = (1..=5_000).rev().collect();
        let (recorded, moments) = renewed(&pauses);
        let longer = recorded.longer.as_ref().map_or(0, |longer| longer.len());
        assert!(longer < 70, "{longer}");
        for (number, pause) in pauses.iter().enumerate().skip(1) {
            let longest = recorded.longest_since(moments[number - 1], ms(0));
            assert!(longest >= ms(*pause) && longest <= ms(pause + pause / 7), "{longest:?} for {pause} ms");
        }
    }
}
