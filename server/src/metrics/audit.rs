//! The audit log.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;

/// Counts lines of the audit log.
#[derive(Clone, Default)]
pub(crate) struct AuditLines {
    pub(crate) lost: Counter,
}

impl AuditLines {
    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "Lines of the audit log that there was no room for, or that could not be written";
        registry.register("audit_lines_lost", help, self.lost.clone());
    }
}
