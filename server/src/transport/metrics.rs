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
        registry.register("connections", "Open connections", self.open.clone());
        let help = "Connections rejected because the limit in total or for one address was reached";
        registry.register("connections_rejected", help, self.rejected.clone());
        let help = "Connections whose TLS handshake was rejected, aborted or too slow";
        registry.register("tls_handshakes_failed", help, self.handshakes_failed.clone());
    }
}
