//! Metrics of locks, of sessions and of appends.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use tenure_core::EndReason;

use crate::telemetry::metrics::{Latencies, MetricSet};

/// A batch has from one to some thousands of events: about three for each of up to 4,096 commands.
const EVENTS: [f64; 8] = [1.0, 4.0, 16.0, 64.0, 256.0, 1_024.0, 4_096.0, 16_384.0];

/// Waits last as long as other holds: from a few milliseconds to the term of a leader.
const WAITS: [f64; 12] = [0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 3_600.0, 86_400.0];

/// Fractions of a TTL. Clients renew at a third; of renewals after nine tenths, some come too late.
const PARTS: [f64; 9] = [0.1, 0.2, 0.35, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

/// How a claim was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The locks were free.
    AtOnce,
    /// The claim waited for its turn.
    Wait,
    /// The holder transferred the locks, as planned.
    Transfer,
}

/// The names of the ways, in the order of the variants.
const WAYS: [&str; 3] = ["at_once", "wait", "transfer"];

type Labels = [(&'static str, &'static str); 1];

/// A counter for each variant of an enum without fields.
#[derive(Clone)]
pub(super) struct Counters<const N: usize> {
    family: Family<Labels, Counter>,
    /// The counters of the family in the order of the variants, to avoid a lookup.
    each: [Counter; N],
}

impl<const N: usize> Counters<N> {
    fn new(label: &'static str, names: [&'static str; N]) -> Self {
        let family = Family::<Labels, Counter>::default();
        let each = names.map(|name| family.get_or_create_owned(&[(label, name)]));
        Self { family, each }
    }
}

/// A counter for each end reason.
type EndCounters = Counters<{ EndReason::ALL.len() }>;

impl Default for EndCounters {
    fn default() -> Self {
        Self::new("reason", EndReason::ALL.map(EndReason::as_str))
    }
}

impl EndCounters {
    pub(super) fn count(&self, reason: EndReason) {
        self.each[reason as usize].inc();
    }
}

/// How late renewals are.
#[derive(Clone)]
pub(super) struct Lateness(Histogram);

impl Lateness {
    /// Records the time between a renewal and the previous one.
    pub(super) fn renewed(&self, pause: Duration, ttl: Duration) {
        if !ttl.is_zero() {
            self.0.observe(pause.as_secs_f64() / ttl.as_secs_f64());
        }
    }
}

/// Metrics of the sequencers of a server.
#[derive(Clone)]
pub struct Counts {
    appended_events: Histogram,
    append_times: Latencies,
    pub(super) append_conflicts: Counter,
    grants: Counters<{ WAYS.len() }>,
    pub(super) holds_ended: EndCounters,
    pub(super) waits_ended: EndCounters,
    pub(super) holder_changes: EndCounters,
    pub(super) waits: Histogram,
    pub(super) sessions_opened: Counter,
    pub(super) sessions_ended: EndCounters,
    pub(super) lateness: Lateness,
    pub(super) adoptions: Counter,
    pub(super) losses: Counter,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            appended_events: Histogram::new(EVENTS),
            append_times: Latencies::default(),
            append_conflicts: Counter::default(),
            grants: Counters::new("way", WAYS),
            holds_ended: EndCounters::default(),
            waits_ended: EndCounters::default(),
            holder_changes: EndCounters::default(),
            waits: Histogram::new(WAITS),
            sessions_opened: Counter::default(),
            sessions_ended: EndCounters::default(),
            lateness: Lateness(Histogram::new(PARTS)),
            adoptions: Counter::default(),
            losses: Counter::default(),
        }
    }
}

impl MetricSet for Counts {
    fn register(&self, registry: &mut Registry) {
        registry.register("append_events", "Events per batch committed by this server", self.appended_events.clone());
        let help = "Time from the first attempt to append a batch until it was known to be committed, in seconds";
        registry.register("append_seconds", help, self.append_times.0.clone());
        let help = "Batches decided again because another server appended first";
        registry.register("append_conflicts", help, self.append_conflicts.clone());
        let help = "Granted claims, by way: at once, after a wait, or by a planned transfer. Counted by the server that \
            appended the grant";
        registry.register("grants", help, self.grants.family.clone());
        let help = "Ended holds, by reason. Counted by the server that appended the end";
        registry.register("holds_ended", help, self.holds_ended.family.clone());
        let help = "Waits that ended without a grant, by reason. Counted by the server that appended the end";
        registry.register("waits_ended", help, self.waits_ended.family.clone());
        let help = "Exclusive locks granted to another session than the last holder, by the end reason of that hold. Known \
            for 4,096 locks of a namespace, since this server started. Counted by the server that appended the grant";
        registry.register("holder_changes", help, self.holder_changes.family.clone());
        let help = "Wait time of the claims that were granted after a wait, in seconds. Counted by the home of the \
            session, from when it learned of the claim";
        registry.register("lock_wait_seconds", help, self.waits.clone());
        let help = "Opened sessions. Counted by the server that appended the opening";
        registry.register("sessions_opened", help, self.sessions_opened.clone());
        let help = "Ended sessions, by reason. Counted by the server that appended the end";
        registry.register("sessions_ended", help, self.sessions_ended.family.clone());
        let help = "Renewals, by the fraction of the session's TTL since the previous one. Clients renew at a third";
        registry.register("renewal_lateness_ratio", help, self.lateness.0.clone());
        let help = "Adoptions by this server of a dead server's sessions in a namespace";
        registry.register("adoptions", help, self.adoptions.clone());
        let help = "Losses, or possible losses, of a namespace's history, after which its revision jumped";
        registry.register("history_losses", help, self.losses.clone());
    }
}

impl Counts {
    /// Records a committed batch: its number of events, and how long the append took.
    pub(super) fn appended(&self, events: usize, time: Duration) {
        // Event counts are far below the limit of exact floats.
        self.appended_events.observe(events as f64);
        self.append_times.took(time);
    }

    pub(super) fn granted(&self, way: Way) {
        self.grants.each[way as usize].inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_indexed_by_way_and_reason() {
        assert_eq!([Way::AtOnce, Way::Wait, Way::Transfer].map(|way| WAYS[way as usize]), WAYS);
        assert!(EndReason::ALL.iter().enumerate().all(|(index, reason)| *reason as usize == index));
    }
}
