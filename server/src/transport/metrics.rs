//! Metrics of open and rejected connections.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::telemetry::metrics::MetricSet;

/// Counts connections.
#[derive(Clone, Default)]
pub struct Connections {
    pub(crate) open: Gauge,
    pub(crate) rejected: Counter,
    pub(crate) handshakes_failed: Counter,
}

impl MetricSet for Connections {
    fn register(&self, registry: &mut Registry) {
        registry.register("connections", "Connections that are open", self.open.clone());
        let help = "Connections that were cut off at once: there were as many as may be, or from one address";
        registry.register("connections_rejected", help, self.rejected.clone());
        let help = "Connections that ended before a TLS handshake was complete: refused, broken off, or too late";
        registry.register("tls_handshakes_failed", help, self.handshakes_failed.clone());
    }
}
