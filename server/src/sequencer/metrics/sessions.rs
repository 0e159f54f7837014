//! Metrics of sessions and of their homes.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use tenure_core::EndReason;

use super::locks::EndCounters;

/// Fractions of a TTL. Clients renew at a third; of renewals after nine tenths, some come too late.
const PARTS: [f64; 9] = [0.1, 0.2, 0.35, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

/// Metrics of sessions.
#[derive(Clone)]
pub(crate) struct Sessions {
    opened: Counter,
    ended: EndCounters,
    renewals: Histogram,
    adoptions: Counter,
    losses: Counter,
}

impl Default for Sessions {
    fn default() -> Self {
        let (opened, ended, adoptions, losses) = Default::default();
        Self { opened, ended, renewals: Histogram::new(PARTS), adoptions, losses }
    }
}

impl Sessions {
    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "Sessions that were opened. Counted by the server that appended it";
        registry.register("sessions_opened", help, self.opened.clone());
        let help = "Sessions that ended, by the reason. Counted by the server that appended it";
        self.ended.register(registry, "sessions_ended", help);
        let help =
            "Renewals, by the part of the session's TTL that had passed since the one before. Clients renew at a third";
        registry.register("renewal_lateness_ratio", help, self.renewals.clone());
        let help = "How often this server took over the sessions that a dead one had in a namespace";
        registry.register("adoptions", help, self.adoptions.clone());
        let help = "How often this server found that the database had lost history of a namespace, or may have, as after \
            a failover, and let its revision jump";
        registry.register("history_losses", help, self.losses.clone());
    }

    pub(crate) fn opened(&self) {
        self.opened.inc();
    }

    pub(crate) fn ended(&self, reason: EndReason) {
        self.ended.count(reason);
    }

    /// Records the time between a renewal and the previous one.
    pub(crate) fn renewed(&self, pause: Duration, ttl: Duration) {
        if !ttl.is_zero() {
            self.renewals.observe(pause.as_secs_f64() / ttl.as_secs_f64());
        }
    }

    pub(crate) fn adopted(&self) {
        self.adoptions.inc();
    }

    pub(crate) fn lost_history(&self) {
        self.losses.inc();
    }
}
