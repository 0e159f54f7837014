//! Metrics of files and keys that are reloaded while the server runs.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use crate::telemetry::metrics::MetricSet;

/// The kinds of reloadable data.
pub(crate) const RELOADED: [&str; 4] = ["certificates", "tokens", "keys", "policy"];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct What {
    what: &'static str,
}

/// Counts reloads.
#[derive(Clone)]
pub(crate) struct Files {
    done: Family<What, Counter>,
    refused: Family<What, Counter>,
    expiry: Expiry,
}

impl Default for Files {
    fn default() -> Self {
        let (done, refused) = (Family::<What, Counter>::default(), Family::<What, Counter>::default());
        for what in RELOADED {
            done.get_or_create_owned(&What { what });
            refused.get_or_create_owned(&What { what });
        }
        Self { done, refused, expiry: Expiry::default() }
    }
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
    /// Counts a successful reload of changed data.
    pub(crate) fn reloaded(&self, what: &'static str) {
        self.done.get_or_create(&What { what }).inc();
    }

    /// Counts a failed reload.
    pub(crate) fn refused(&self, what: &'static str) {
        self.refused.get_or_create(&What { what }).inc();
    }

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
