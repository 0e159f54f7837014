//! Metrics, as Prometheus reads them. No label has other values than those that are written in this program: never a name, an
//! identity or an address.

mod connections;
mod refusals;

use std::sync::Arc;

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

pub use self::connections::Connections;
pub(crate) use self::refusals::Refusals;

/// The media type of [`Metrics::text`].
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The metrics of one server. Clones share them.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    refusals: Refusals,
    connections: Connections,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("tenure");
        let (refusals, connections) = (Refusals::default(), Connections::default());
        refusals.register(&mut registry);
        connections.register(&mut registry);
        Self(Arc::new(Inner { registry, refusals, connections }))
    }
}

impl Metrics {
    /// All of them as they are now, in the text format of OpenMetrics 1.0.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.0.registry);
        text
    }

    pub(crate) fn refusals(&self) -> &Refusals {
        &self.0.refusals
    }

    pub(crate) fn connections(&self) -> &Connections {
        &self.0.connections
    }
}
