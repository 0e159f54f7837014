//! Metrics, as Prometheus reads them. No label has other values than those that are written in this program: never a name, an
//! identity or an address.
//!
//! What is counted of the log is counted by the server that appended it, so that sums over servers are right. What follows from
//! the log is the same at every server, so that the maximum is. `deploy/monitoring/README.md` says of each which it is.

mod appends;
mod audit;
mod beats;
mod buffers;
mod build;
mod calls;
mod classic;
mod connections;
mod files;
mod history;
mod latencies;
mod lives;
mod locks;
mod process;
mod refusals;
mod sessions;
mod state;
mod store;

use std::sync::Arc;

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

pub(crate) use self::appends::Appends;
pub(crate) use self::audit::AuditLines;
pub(crate) use self::beats::Beats;
pub(crate) use self::buffers::{Buffer, Buffers};
pub(crate) use self::calls::{Call, Calls, Kind, Received};
pub use self::connections::Connections;
pub(crate) use self::files::{Files, RELOADED};
pub(crate) use self::history::History;
pub(crate) use self::lives::Lives;
pub(crate) use self::locks::{Locks, Way};
pub(crate) use self::refusals::Refusals;
pub(crate) use self::sessions::Sessions;
pub(crate) use self::state::State;
pub(crate) use self::store::{Operation, PoolUse, StoreCounts};

/// The media type of [`Metrics::text`].
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The media type of [`Metrics::classic_text`].
pub const CLASSIC_MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The metrics of one server. Clones share them.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    parts: Parts,
}

#[derive(Default)]
struct Parts {
    appends: Appends,
    audit: AuditLines,
    beats: Beats,
    buffers: Buffers,
    calls: Calls,
    connections: Connections,
    files: Files,
    history: History,
    lives: Lives,
    locks: Locks,
    refusals: Refusals,
    sessions: Sessions,
    state: State,
    store: StoreCounts,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        let parts = Parts::default();
        // These have the names that they have everywhere.
        parts.calls.register(&mut registry);
        process::register(&mut registry);
        let own = registry.sub_registry_with_prefix("tenure");
        build::register(own);
        parts.appends.register(own);
        parts.audit.register(own);
        parts.beats.register(own);
        parts.buffers.register(own);
        parts.connections.register(own);
        parts.files.register(own);
        parts.history.register(own);
        parts.lives.register(own);
        parts.locks.register(own);
        parts.refusals.register(own);
        parts.sessions.register(own);
        parts.state.register(own);
        parts.store.register(own);
        Self(Arc::new(Inner { registry, parts }))
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

    /// The same in the text format that Prometheus had before, for those who know only that.
    #[must_use]
    pub fn classic_text(&self) -> String {
        classic::from_openmetrics(&self.text())
    }

    pub(crate) fn appends(&self) -> &Appends {
        &self.0.parts.appends
    }

    pub(crate) fn audit(&self) -> &AuditLines {
        &self.0.parts.audit
    }

    pub(crate) fn beats(&self) -> &Beats {
        &self.0.parts.beats
    }

    pub(crate) fn buffers(&self) -> &Buffers {
        &self.0.parts.buffers
    }

    pub(crate) fn calls(&self) -> &Calls {
        &self.0.parts.calls
    }

    pub(crate) fn connections(&self) -> &Connections {
        &self.0.parts.connections
    }

    pub(crate) fn files(&self) -> &Files {
        &self.0.parts.files
    }

    pub(crate) fn history(&self) -> &History {
        &self.0.parts.history
    }

    pub(crate) fn lives(&self) -> &Lives {
        &self.0.parts.lives
    }

    pub(crate) fn locks(&self) -> &Locks {
        &self.0.parts.locks
    }

    pub(crate) fn refusals(&self) -> &Refusals {
        &self.0.parts.refusals
    }

    pub(crate) fn sessions(&self) -> &Sessions {
        &self.0.parts.sessions
    }

    pub(crate) fn state(&self) -> &State {
        &self.0.parts.state
    }

    pub(crate) fn store(&self) -> &StoreCounts {
        &self.0.parts.store
    }
}
