//! Durations with the times of their ends.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Durations that one thread records and others read.
#[derive(Clone, Default)]
pub(crate) struct Times(Arc<Mutex<Vec<(Instant, Duration)>>>);

impl Times {
    /// Records an operation that began then and ends now.
    pub(crate) fn add(&self, begun: Instant) {
        self.lock().push((begun, begun.elapsed()));
    }

    /// The durations of operations that ended after `since`.
    pub(crate) fn since(&self, since: Instant) -> Vec<Duration> {
        let times = self.lock();
        let late = times.iter().rev().take_while(|(begun, took)| *begun + *took >= since);
        late.map(|(_, took)| *took).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(Instant, Duration)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The 99th percentile.
pub(crate) fn p99(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    let at = (times.len() * 99).div_ceil(100).saturating_sub(1);
    times.get(at).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p99_ignores_one_sample_in_a_hundred() {
        let times: Vec<Duration> = (1..=200).map(Duration::from_millis).collect();
        assert_eq!(p99(times), Duration::from_millis(198));
        assert_eq!(p99(vec![Duration::from_secs(1)]), Duration::from_secs(1));
        assert_eq!(p99(Vec::new()), Duration::ZERO);
    }
}
