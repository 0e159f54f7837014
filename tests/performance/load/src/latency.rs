//! Latency statistics.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;

/// The distribution of durations, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    /// The number of samples.
    pub count: usize,
    /// The median.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The maximum.
    pub max: f64,
}

impl Latency {
    /// Computes the statistics of these durations.
    pub fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |share: f64| {
            let index = (times.len() as f64 * share).ceil() as usize;
            times.get(index.saturating_sub(1)).map_or(0.0, |time| time.as_secs_f64() * 1e3)
        };
        Self { count: times.len(), p50: at(0.5), p99: at(0.99), max: at(1.0) }
    }
}

impl fmt::Display for Latency {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "p50 {:.1}, p99 {:.1}, max {:.1} ms of {}", self.p50, self.p99, self.max, self.count)
    }
}

/// Durations that one task records and another reads.
#[derive(Clone, Debug, Default)]
pub struct Times(Arc<Mutex<Vec<Duration>>>);

impl Times {
    /// Adds a duration.
    pub fn add(&self, time: Duration) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(time);
    }

    /// Takes the durations recorded since the last call, and computes their statistics.
    pub fn take(&self) -> Latency {
        Latency::of(std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_is_computed_by_rank() {
        let times = (1..=200).rev().map(Duration::from_millis).collect();
        assert_eq!(Latency::of(times), Latency { count: 200, p50: 100.0, p99: 198.0, max: 200.0 });
        assert_eq!(Latency::of(Vec::new()), Latency::default());
    }
}
