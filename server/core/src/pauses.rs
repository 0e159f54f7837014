//! How late the renewals of a session are: for people, nothing is decided by it.

use std::time::Duration;

use crate::home::Tick;

/// Pauses that differ by less than this part of the longer one count as equally long, so that few of them are kept.
const ALIKE: u32 = 8;

/// The pauses between a session's renewals, as far as one of them may be the longest of a hold: each ended later and was
/// shorter than the one before.
#[derive(Debug, Default)]
pub(crate) struct Pauses(Vec<(Tick, Duration)>);

impl Pauses {
    /// A renewal came at `now`, after a pause.
    pub(crate) fn ended(&mut self, now: Tick, pause: Duration) {
        while self.0.last().is_some_and(|(_, earlier)| *earlier <= pause) {
            self.0.pop();
        }
        match self.0.last_mut() {
            Some((end, earlier)) if *earlier - pause < *earlier / ALIKE => *end = now,
            _ => {
                // Most sessions have one or two for ever.
                self.0.reserve_exact(1);
                self.0.push((now, pause));
            }
        }
    }

    /// The longest of the pauses that ended after `since`, and of the one that is `running`. Never less than it was, and
    /// at most a seventh more.
    pub(crate) fn longest_since(&self, since: Tick, running: Duration) -> Duration {
        let longest = self.0.iter().find(|(end, _)| *end > since).map(|(_, pause)| *pause);
        longest.unwrap_or_default().max(running)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Renewals after each of these pauses; and when each of them came.
    fn renewed(pauses: &[u64]) -> (Pauses, Vec<Tick>) {
        let mut kept = Pauses::default();
        let mut now = ms(0);
        let mut moments = Vec::new();
        for pause in pauses {
            now += ms(*pause);
            kept.ended(now, ms(*pause));
            moments.push(now);
        }
        (kept, moments)
    }

    #[test]
    fn the_longest_is_that_of_the_time_asked_for() {
        let (kept, moments) = renewed(&[300, 900, 300, 500, 300, 300]);
        let longest = |after: usize| kept.longest_since(moments[after], ms(10));
        assert_eq!(kept.longest_since(ms(0), ms(10)), ms(900));
        assert_eq!(longest(0), ms(900));
        assert_eq!(longest(1), ms(500), "the long one was over before");
        assert_eq!(longest(3), ms(300));
        assert_eq!(longest(5), ms(10), "none has ended since");
        assert_eq!(kept.longest_since(moments[1], ms(700)), ms(700), "the one that is running counts");
    }

    #[test]
    fn few_are_kept_and_none_is_told_shorter_than_it_was() {
        let pauses: Vec<u64> = (1..=5_000).rev().collect();
        let (kept, moments) = renewed(&pauses);
        assert!(kept.0.len() < 70, "{}", kept.0.len());
        for (number, pause) in pauses.iter().enumerate().skip(1) {
            let told = kept.longest_since(moments[number - 1], ms(0));
            assert!(told >= ms(*pause) && told <= ms(pause + pause / 7), "{told:?} for {pause} ms");
        }
    }
}
