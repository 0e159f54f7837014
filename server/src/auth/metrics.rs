//! Metrics of rejections and of the audit log.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use crate::telemetry::metrics::MetricSet;

/// Counts audit log lines.
#[derive(Clone, Default)]
pub(crate) struct AuditLines {
    pub(crate) lost: Counter,
}

impl MetricSet for AuditLines {
    fn register(&self, registry: &mut Registry) {
        let help = "Audit log lines lost because the buffer was full or the file could not be written";
        registry.register("audit_lines_lost", help, self.lost.clone());
    }
}

/// Counts rejected calls and stream commands.
#[derive(Clone, Default)]
pub(crate) struct Refusals {
    refused: Family<[(&'static str, String); 1], Counter>,
    limits: Family<[(&'static str, String); 1], Counter>,
}

impl MetricSet for Refusals {
    fn register(&self, registry: &mut Registry) {
        registry.register("refusals", "Calls and stream commands rejected, by reason", self.refused.clone());
        registry.register("limits_reached", "Rejections because a limit was reached, by limit", self.limits.clone());
    }
}

impl Refusals {
    /// Counts a rejection, and the limit that caused it, if any.
    pub(crate) fn count(&self, reason: String, limit: Option<String>) {
        self.refused.get_or_create(&[("reason", reason)]).inc();
        if let Some(limit) = limit {
            self.limits.get_or_create(&[("limit", limit)]).inc();
        }
    }
}
