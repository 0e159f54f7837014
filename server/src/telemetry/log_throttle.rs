//! Throttles the log of a repeating failure: it is logged when it begins, at intervals while it lasts, and when it
//! ends.

use std::time::Duration;

use tokio::time::Instant;

/// Decides which of the repetitions of one failure are logged.
#[derive(Debug)]
pub(crate) struct LogThrottle {
    interval: Duration,
    logged: Option<Instant>,
    /// The recovery has not been logged yet.
    is_failing: bool,
}

impl LogThrottle {
    /// Lets one message pass in each interval.
    pub(crate) const fn every(interval: Duration) -> Self {
        Self { interval, logged: None, is_failing: false }
    }

    /// Notes a failure. Returns whether it should be logged.
    pub(crate) fn on_error(&mut self, now: Instant) -> bool {
        let is_due = self.logged.is_none_or(|logged| now.duration_since(logged) >= self.interval);
        if is_due {
            (self.logged, self.is_failing) = (Some(now), true);
        }
        is_due
    }

    /// Notes a success. Returns whether the recovery should be logged: the last message was a failure.
    pub(crate) fn on_recovery(&mut self) -> bool {
        std::mem::take(&mut self.is_failing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_is_logged_when_it_begins_at_intervals_and_when_it_is_over() {
        let (mut throttle, start) = (LogThrottle::every(Duration::from_secs(10)), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(!throttle.on_recovery());
        let logged: Vec<u64> = (0..25).filter(|second| throttle.on_error(at(*second))).collect();
        assert_eq!(logged, [0, 10, 20]);
        assert!(throttle.on_recovery());
        assert!(!throttle.on_recovery(), "logged once");
    }

    #[test]
    fn intermittent_failure_is_not_logged_each_time() {
        let (mut throttle, start) = (LogThrottle::every(Duration::from_secs(10)), Instant::now());
        let mut logged = 0;
        for second in 0..20 {
            logged +=
                u32::from(throttle.on_error(start + Duration::from_secs(second))) + u32::from(throttle.on_recovery());
        }
        assert_eq!(logged, 4, "two failures, and the recovery after each");
    }
}
