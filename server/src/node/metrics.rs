//! Metrics of heartbeats, restarts under a new id, and history size.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::telemetry::metrics::{Latencies, MetricSet};

/// Counts heartbeats, and nodes that ended before the process.
#[derive(Clone, Default)]
pub(crate) struct NodeCounts {
    pub(crate) heartbeats: Latencies,
    pub(crate) lateness: Latencies,
    pub(crate) failures: Counter,
    pub(crate) marked_dead: Counter,
    pub(crate) task_panics: Counter,
}

impl MetricSet for NodeCounts {
    fn register(&self, registry: &mut Registry) {
        let help = "Time that the store took to commit a heartbeat, in seconds";
        registry.register("heartbeat_seconds", help, self.heartbeats.0.clone());
        let help = "Time from when a heartbeat was due until it was committed, including failed attempts, in seconds";
        registry.register("heartbeat_lateness_seconds", help, self.lateness.0.clone());
        registry.register("heartbeat_failures", "Failed heartbeats", self.failures.clone());
        let help = "Times that other servers marked this server dead and it started over under a new id";
        registry.register("marked_dead", help, self.marked_dead.clone());
        let help = "Times that a task of this server panicked and it started over under a new id";
        registry.register("task_panics", help, self.task_panics.clone());
    }
}

/// The size of the stored history, as last measured.
#[derive(Clone, Default)]
pub(crate) struct History {
    pub(crate) bytes: Gauge,
    pub(crate) limit: Gauge,
}

impl MetricSet for History {
    fn register(&self, registry: &mut Registry) {
        let help = "History of the namespace with the most history, in bytes. The same at every server";
        registry.register("history_bytes", help, self.bytes.clone());
        let help = "Limit on the history of each namespace, in bytes. Beyond it the oldest is dropped";
        registry.register("history_limit_bytes", help, self.limit.clone());
    }
}
