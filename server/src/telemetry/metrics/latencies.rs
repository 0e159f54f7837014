//! Latency histograms.

use std::time::Duration;

use prometheus_client::metrics::histogram::Histogram;

/// From 0.5 ms, the commit time of a fast database, to 10 s, the longest expected call: the default buckets of
/// Prometheus client libraries, and finer ones below.
pub(crate) const BUCKETS: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// A histogram of durations, in seconds, with [`BUCKETS`].
#[derive(Clone)]
pub(crate) struct Latencies(pub(crate) Histogram);

impl Default for Latencies {
    fn default() -> Self {
        Self(Histogram::new(BUCKETS))
    }
}

impl Latencies {
    pub(crate) fn took(&self, time: Duration) {
        self.0.observe(time.as_secs_f64());
    }
}
