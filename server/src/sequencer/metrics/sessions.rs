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
        let help = "Opened sessions. Counted by the server that appended the opening";
        registry.register("sessions_opened", help, self.opened.clone());
        let help = "Ended sessions, by reason. Counted by the server that appended the end";
        self.ended.register(registry, "sessions_ended", help);
        let help = "Renewals, by the fraction of the session's TTL since the previous one. Clients renew at a third";
        registry.register("renewal_lateness_ratio", help, self.renewals.clone());
        let help = "Adoptions by this server of a dead server's sessions in a namespace";
        registry.register("adoptions", help, self.adoptions.clone());
        let help = "Losses, or possible losses, of a namespace's history, after which its revision jumped";
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
