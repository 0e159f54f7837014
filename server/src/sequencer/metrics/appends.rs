//! Metrics of batches that are appended to the log.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::telemetry::metrics::Latencies;

/// A batch has from one to some thousands of events: about three for each of up to 4,096 commands.
const EVENTS: [f64; 8] = [1.0, 4.0, 16.0, 64.0, 256.0, 1_024.0, 4_096.0, 16_384.0];

/// Metrics of appends.
#[derive(Clone)]
pub(crate) struct Appends {
    events: Histogram,
    times: Latencies,
    conflicts: Counter,
}

impl Default for Appends {
    fn default() -> Self {
        Self { events: Histogram::new(EVENTS), times: Latencies::default(), conflicts: Counter::default() }
    }
}

impl Appends {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("append_events", "Events per batch committed by this server", self.events.clone());
        let help = "Time from the first attempt to append a batch until it was known to be committed, in seconds";
        registry.register("append_seconds", help, self.times.0.clone());
        let help = "Batches decided again because another server appended first";
        registry.register("append_conflicts", help, self.conflicts.clone());
    }

    /// Records a committed batch: its number of events, and how long the append took.
    pub(crate) fn committed(&self, events: usize, time: Duration) {
        // Event counts are far below the limit of exact floats.
        self.events.observe(events as f64);
        self.times.took(time);
    }

    /// Another server appended first.
    pub(crate) fn lost(&self) {
        self.conflicts.inc();
    }
}
