//! Limits the rate of lines in a log.

use std::time::Duration;

use tokio::time::Instant;

/// The minimum time between two lines, and the maximum time for which a change is unreported.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Each line doubles the pause before the next one, so that a lock that changes hands often does not fill the log;
/// after a long silence the pause is short again.
pub struct LogThrottle {
    next: Instant,
    pause: Duration,
}

impl LogThrottle {
    /// A pace whose first line is due at once.
    pub fn new(now: Instant) -> Self {
        Self { next: now, pause: PAUSES.0 }
    }

    /// When the next read is due.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// Records a read without a change to report.
    pub fn on_read(&mut self, now: Instant) {
        self.next = self.next.max(now + PAUSES.0);
    }

    /// Records that a line was written.
    pub fn on_line(&mut self, now: Instant) {
        let is_quiet = now.saturating_duration_since(self.next) >= self.pause;
        self.pause = if is_quiet { PAUSES.0 } else { (self.pause * 2).min(PAUSES.1) };
        self.next = now + self.pause;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn constant_changes_are_reported_ever_less_often() {
        let begun = Instant::now();
        let mut throttle = LogThrottle::new(begun);
        let mut lines = 0;
        while throttle.next() < begun + Duration::from_secs(3_600) {
            throttle.on_line(throttle.next());
            lines += 1;
        }
        assert!((60..70).contains(&lines), "{lines} lines in an hour");
    }

    #[tokio::test]
    async fn rare_changes_are_reported_at_once() {
        let mut throttle = LogThrottle::new(Instant::now());
        for _ in 0..5 {
            let later = throttle.next() + Duration::from_secs(600);
            throttle.on_line(later);
            assert_eq!(throttle.next(), later + PAUSES.0);
        }
    }

    #[tokio::test]
    async fn reads_without_a_change_are_throttled_too() {
        let begun = Instant::now();
        let mut throttle = LogThrottle::new(begun);
        throttle.on_read(begun);
        assert_eq!(throttle.next(), begun + PAUSES.0);
    }
}
