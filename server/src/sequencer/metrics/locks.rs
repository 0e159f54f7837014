//! Metrics of locks.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use tenure_core::EndReason;

/// Waits last as long as other holds: from a few milliseconds to the term of a leader.
const WAITS: [f64; 12] = [0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 3_600.0, 86_400.0];

/// How a claim was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// The locks were free.
    AtOnce,
    /// The claim waited for its turn.
    Wait,
    /// The holder transferred the locks, as planned.
    Transfer,
}

impl Way {
    const ALL: [Self; 3] = [Self::AtOnce, Self::Wait, Self::Transfer];

    fn as_str(self) -> &'static str {
        match self {
            Self::AtOnce => "at_once",
            Self::Wait => "wait",
            Self::Transfer => "transfer",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Granted {
    way: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    reason: &'static str,
}

/// A counter for each end reason.
#[derive(Clone)]
pub(super) struct EndCounters {
    family: Family<Ended, Counter>,
    /// The counters of the family by reason, to avoid a lookup.
    each: [Counter; EndReason::ALL.len()],
}

impl Default for EndCounters {
    fn default() -> Self {
        let family = Family::<Ended, Counter>::default();
        let each = EndReason::ALL.map(|reason| family.get_or_create_owned(&Ended { reason: reason.as_str() }));
        Self { family, each }
    }
}

impl EndCounters {
    pub(super) fn register(&self, registry: &mut Registry, name: &str, help: &str) {
        registry.register(name, help, self.family.clone());
    }

    pub(super) fn count(&self, reason: EndReason) {
        self.each[reason as usize].inc();
    }
}

/// Metrics of locks.
#[derive(Clone)]
pub(crate) struct Locks {
    grants: Family<Granted, Counter>,
    each_grant: [Counter; Way::ALL.len()],
    holds_ended: EndCounters,
    waits_ended: EndCounters,
    holder_changes: EndCounters,
    waits: Histogram,
}

impl Default for Locks {
    fn default() -> Self {
        let grants = Family::<Granted, Counter>::default();
        let each_grant = Way::ALL.map(|way| grants.get_or_create_owned(&Granted { way: way.as_str() }));
        let (holds_ended, waits_ended, holder_changes) = Default::default();
        Self { grants, each_grant, holds_ended, waits_ended, holder_changes, waits: Histogram::new(WAITS) }
    }
}

impl Locks {
    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "Granted claims, by way: at once, after a wait, or by a planned transfer. Counted by the server that \
            appended the grant";
        registry.register("grants", help, self.grants.clone());
        let help = "Ended holds, by reason. Counted by the server that appended the end";
        self.holds_ended.register(registry, "holds_ended", help);
        let help = "Waits that ended without a grant, by reason. Counted by the server that appended the end";
        self.waits_ended.register(registry, "waits_ended", help);
        let help = "Exclusive locks granted to another session than the last holder, by the end reason of that hold. Known \
            for 4,096 locks of a namespace, since this server started. Counted by the server that appended the grant";
        self.holder_changes.register(registry, "holder_changes", help);
        let help = "Wait time of the claims that were granted after a wait, in seconds. Counted by the home of the \
            session, from when it learned of the claim";
        registry.register("lock_wait_seconds", help, self.waits.clone());
    }

    pub(crate) fn granted(&self, way: Way) {
        self.each_grant[way as usize].inc();
    }

    pub(crate) fn hold_ended(&self, reason: EndReason) {
        self.holds_ended.count(reason);
    }

    pub(crate) fn wait_ended(&self, reason: EndReason) {
        self.waits_ended.count(reason);
    }

    /// Records that a lock has a new holder, by the reason why the previous hold ended.
    pub(crate) fn holder_changed(&self, reason: EndReason) {
        self.holder_changes.count(reason);
    }

    pub(crate) fn waited(&self, time: Duration) {
        self.waits.observe(time.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_the_counter_of_its_name() {
        assert!(Way::ALL.iter().enumerate().all(|(index, way)| *way as usize == index));
        assert!(EndReason::ALL.iter().enumerate().all(|(index, reason)| *reason as usize == index));
    }
}
