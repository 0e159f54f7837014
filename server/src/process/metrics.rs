//! Metrics of files and keys that are reloaded while the server runs.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use crate::telemetry::metrics::MetricSet;

/// The kind of reloadable data.
pub(super) type What = [(&'static str, &'static str); 1];

/// Counts reloads.
#[derive(Clone, Default)]
pub(crate) struct Files {
    pub(super) done: Family<What, Counter>,
    pub(super) refused: Family<What, Counter>,
    expiry: Expiry,
}

impl MetricSet for Files {
    fn register(&self, registry: &mut Registry) {
        registry.register("reloads", "Files reloaded while the server runs, by kind", self.done.clone());
        let help = "Failed reloads, by kind. The server keeps the previous contents and retries";
        registry.register("reloads_refused", help, self.refused.clone());
        registry.register_collector(Box::new(self.expiry.clone()));
    }
}

impl Files {
    /// Sets the earliest expiry of the served certificate chain, in seconds since 1970.
    pub(crate) fn expires(&self, at: i64) {
        self.expiry.0.store(at, Ordering::Relaxed);
    }
}

/// The expiry of the certificate; 0 if none is served.
#[derive(Clone, Debug, Default)]
struct Expiry(Arc<AtomicI64>);

impl Collector for Expiry {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let at = self.0.load(Ordering::Relaxed);
        if at == 0 {
            return Ok(());
        }
        let name = "tls_certificate_expiry_timestamp_seconds";
        let help = "Earliest expiry of the served certificate chain, in seconds since 1970. Absent without TLS.";
        encoder.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&at)
    }
}
