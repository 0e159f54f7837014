//! How much history there is.

use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// What is kept of history, as it was measured last.
#[derive(Clone, Default)]
pub(crate) struct History {
    pub(crate) bytes: Gauge,
    pub(crate) limit: Gauge,
}

impl History {
    pub(super) fn register(&self, registry: &mut Registry) {
        let help =
            "Bytes of history that the database keeps of the namespace with most of it. The same at every server";
        registry.register("history_bytes", help, self.bytes.clone());
        let help = "Bytes of history that are kept of each namespace at the most. Beyond that the oldest is dropped";
        registry.register("history_limit_bytes", help, self.limit.clone());
    }
}
