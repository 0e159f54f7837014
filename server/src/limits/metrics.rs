//! Metrics of buffers for callers: bytes held, and their limits.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::telemetry::metrics::MetricSet;

type Kind = [(&'static str, &'static str); 1];

/// Metrics of all kinds of buffers.
#[derive(Clone, Default)]
pub(crate) struct Buffers {
    bytes: Family<Kind, Gauge>,
    limits: Family<Kind, Gauge>,
    refused: Family<Kind, Counter>,
}

/// Metrics of one kind of buffer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buffer {
    pub(crate) bytes: Gauge,
    pub(crate) limit: Gauge,
    pub(crate) refused: Counter,
}

impl MetricSet for Buffers {
    fn register(&self, registry: &mut Registry) {
        let help = "Bytes in buffers for callers, by their contents";
        registry.register("buffer_bytes", help, self.bytes.clone());
        let help = "Limit on the bytes in buffers for callers, by their contents";
        registry.register("buffer_limit_bytes", help, self.limits.clone());
        let help = "Requests and connections rejected because buffers were full, by their contents";
        registry.register("buffer_refusals", help, self.refused.clone());
    }
}

impl Buffers {
    pub(crate) fn of(&self, buffer: &'static str) -> Buffer {
        let kind = [("buffer", buffer)];
        Buffer {
            bytes: self.bytes.get_or_create_owned(&kind),
            limit: self.limits.get_or_create_owned(&kind),
            refused: self.refused.get_or_create_owned(&kind),
        }
    }
}
