//! Why this server has started over as a new one.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;

/// Counts the lives that ended before the process did.
#[derive(Clone, Default)]
pub(crate) struct Lives {
    marked_dead: Counter,
    parts_failed: Counter,
}

impl Lives {
    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "How often this server found itself marked dead by others, and started over as a new one";
        registry.register("marked_dead", help, self.marked_dead.clone());
        let help = "How often a part of this server failed by a defect, and it started over as a new one";
        registry.register("parts_failed", help, self.parts_failed.clone());
    }

    /// Others have marked this server dead.
    pub(crate) fn marked_dead(&self) {
        self.marked_dead.inc();
    }

    /// A part of this server has failed.
    pub(crate) fn part_failed(&self) {
        self.parts_failed.inc();
    }
}
