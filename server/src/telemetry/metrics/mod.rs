//! Metrics, as Prometheus reads them. No label has other values than those that are written in this program: never a name, an
//! identity or an address.
//!
//! Each part of the server defines its own [`MetricSet`] and takes it from the [`Metrics`] of its server. What is counted of the log is
//! counted by the server that appended it, so that sums over servers are right. What follows from the log is the same at every
//! server, so that the maximum is. `deploy/monitoring/README.md` says of each which it is.

mod build;
mod classic;
mod latencies;
mod process;

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

pub(crate) use self::latencies::{BUCKETS, Latencies};

/// The media type of [`Metrics::text`].
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The media type of [`Metrics::classic_text`].
pub const CLASSIC_MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The metrics of one part of the server. Clones count into the same.
pub(crate) trait MetricSet: Clone + Default + Send + 'static {
    /// What their names begin with, unless they have the names that they have everywhere.
    const PREFIX: Option<&'static str> = Some("tenure");

    /// Adds them to a registry.
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
        process::register(&mut registry);
        build::register(registry.sub_registry_with_prefix("tenure"));
        Self(Arc::new(Mutex::new(Inner { registry, sets: HashMap::new() })))
    }
}

impl Metrics {
    /// The metrics of a part, which are registered the first time that they are asked for.
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

    /// All of them as they are now, in the text format of OpenMetrics 1.0.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.inner().registry);
        text
    }

    /// The same in the text format that Prometheus had before, for those who know only that.
    #[must_use]
    pub fn classic_text(&self) -> String {
        classic::from_openmetrics(&self.text())
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
