//! This server's beats.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;

use super::latencies::Latencies;

/// Counts beats.
#[derive(Clone, Default)]
pub(crate) struct Beats {
    times: Latencies,
    lateness: Latencies,
    failures: Counter,
}

impl Beats {
    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "Seconds that the store took for a beat that it committed";
        registry.register("beat_seconds", help, self.times.0.clone());
        let help = "Seconds from when a beat was due until it was committed, with all tries that failed before";
        registry.register("beat_lateness_seconds", help, self.lateness.0.clone());
        registry.register("beat_failures", "Beats that the store did not take", self.failures.clone());
    }

    /// A beat was committed: so long after it was sent, and so long after it was due.
    pub(crate) fn committed(&self, time: Duration, lateness: Duration) {
        self.times.took(time);
        self.lateness.took(lateness);
    }

    /// A beat failed.
    pub(crate) fn failed(&self) {
        self.failures.inc();
    }
}
