//! Metrics of locks, of sessions and of appends.

mod appends;
mod locks;
mod sessions;

use prometheus_client::registry::Registry;

pub(super) use self::appends::Appends;
pub(super) use self::locks::{Locks, Way};
pub(super) use self::sessions::Sessions;
use crate::telemetry::metrics::MetricSet;

/// Metrics of the sequencers of a server.
#[derive(Clone, Default)]
pub struct Counts {
    pub(super) appends: Appends,
    pub(super) locks: Locks,
    pub(super) sessions: Sessions,
}

impl MetricSet for Counts {
    fn register(&self, registry: &mut Registry) {
        self.appends.register(registry);
        self.locks.register(registry);
        self.sessions.register(registry);
    }
}
