//! Metrics in Prometheus formats. Label values are constants of this program, never a name, an identity or an address.
//!
//! Each module defines its own [`MetricSet`] and takes it from the [`Metrics`] of its server. Log events are counted
//! only by the server that appended them, so that sums over servers are correct. State derived from the log is equal at
//! every server, so that the maximum is correct. `deploy/monitoring/README.md` lists which applies to each metric.

mod classic;
mod latencies;
#[cfg(target_os = "linux")]
mod process;

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

pub(crate) use self::latencies::{BUCKETS, Latencies};

/// The media type of [`Metrics::text`].
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The media type of [`Metrics::classic_text`].
pub const CLASSIC_MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The metrics of one module. Clones share their values.
pub(crate) trait MetricSet: Clone + Default + Send + 'static {
    /// The prefix of their names; `None` for names that are standardized.
    const PREFIX: Option<&'static str> = Some("tenure");

    fn register(&self, registry: &mut Registry);
}

/// The metrics of one server. Clones share them.
#[derive(Clone)]
pub struct Metrics(Arc<Mutex<Inner>>);

struct Inner {
    registry: Registry,
    sets: HashMap<TypeId, Box<dyn Any + Send>>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        #[cfg(target_os = "linux")]
        registry.register_collector(Box::new(process::Process));
        let version = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        registry.sub_registry_with_prefix("tenure").register("build", "Version of the server", version);
        Self(Arc::new(Mutex::new(Inner { registry, sets: HashMap::new() })))
    }
}

impl Metrics {
    /// The metrics of a module, registered on first use.
    pub(crate) fn of<S: MetricSet>(&self) -> S {
        let inner = &mut *self.inner();
        if let Some(set) = inner.sets.get(&TypeId::of::<S>()).and_then(|set| set.downcast_ref::<S>()) {
            return set.clone();
        }
        let set = S::default();
        match S::PREFIX {
            Some(prefix) => set.register(inner.registry.sub_registry_with_prefix(prefix)),
            None => set.register(&mut inner.registry),
        }
        inner.sets.insert(TypeId::of::<S>(), Box::new(set.clone()));
        set
    }

    /// All metrics, in the text format of OpenMetrics 1.0.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.inner().registry);
        text
    }

    /// All metrics, in the classic Prometheus text format, for scrapers that support only that.
    #[must_use]
    pub fn classic_text(&self) -> String {
        classic::from_openmetrics(&self.text())
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
