//! Limits the rate of lines in a log.

use std::time::Duration;

use tokio::time::Instant;

/// The minimum time between two lines, and the maximum time for which a change is unreported.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Each line doubles the pause before the next one, so that a lock that changes hands often does not fill the log;
/// after a long silence the pause is short again.
pub struct Pace {
    next: Instant,
    pause: Duration,
}

impl Pace {
    /// A pace whose first line is due at once.
    pub fn new(now: Instant) -> Self {
        Self { next: now, pause: PAUSES.0 }
    }

    /// When the next read is due.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// Records a read without a change to report.
    pub fn looked(&mut self, now: Instant) {
        self.next = self.next.max(now + PAUSES.0);
    }

    /// Records that a line was written.
    pub fn told(&mut self, now: Instant) {
        let is_quiet = now.saturating_duration_since(self.next) >= self.pause;
        self.pause = if is_quiet { PAUSES.0 } else { (self.pause * 2).min(PAUSES.1) };
        self.next = now + self.pause;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_changes_all_the_time_is_told_ever_less_often() {
        let begun = Instant::now();
        let mut pace = Pace::new(begun);
        let mut told = 0;
        while pace.next() < begun + Duration::from_secs(3_600) {
            pace.told(pace.next());
            told += 1;
        }
        assert!((60..70).contains(&told), "{told} lines in an hour");
    }

    #[tokio::test]
    async fn what_changes_now_and_then_is_told_at_once() {
        let mut pace = Pace::new(Instant::now());
        for _ in 0..5 {
            let later = pace.next() + Duration::from_secs(600);
            pace.told(later);
            assert_eq!(pace.next(), later + PAUSES.0);
        }
    }

    #[tokio::test]
    async fn looks_that_find_nothing_are_paced_too() {
        let begun = Instant::now();
        let mut pace = Pace::new(begun);
        pace.looked(begun);
        assert_eq!(pace.next(), begun + PAUSES.0);
    }
}
