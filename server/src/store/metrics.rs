//! Metrics of the store: calls, latencies, errors and connections.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::telemetry::metrics::MetricSet;

use super::StoreError;
use crate::telemetry::metrics::{BUCKETS, Latencies};

/// A kind of call to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Append,
    Read,
    Search,
    Load,
    Save,
    Heads,
    Heartbeat,
    MarkDead,
    Forget,
    Measure,
    Trim,
}

impl Operation {
    const ALL: [Self; 11] = [
        Self::Append,
        Self::Read,
        Self::Search,
        Self::Load,
        Self::Save,
        Self::Heads,
        Self::Heartbeat,
        Self::MarkDead,
        Self::Forget,
        Self::Measure,
        Self::Trim,
    ];

    fn as_str(self) -> &'static str {
        match self {
            Self::Append => "append",
            Self::Read => "read",
            Self::Search => "search",
            Self::Load => "load",
            Self::Save => "save",
            Self::Heads => "heads",
            Self::Heartbeat => "heartbeat",
            Self::MarkDead => "mark_dead",
            Self::Forget => "forget",
            Self::Measure => "measure",
            Self::Trim => "trim",
        }
    }
}

/// Label values of errors, in the order of [`kind`].
const KINDS: [&str; 4] = ["conflict", "compacted", "unavailable", "outcome_unknown"];

fn kind(error: &StoreError) -> usize {
    match error {
        StoreError::Conflict => 0,
        StoreError::Compacted(_) => 1,
        StoreError::Unavailable(_) => 2,
        StoreError::OutcomeUnknown(_) => 3,
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Asked {
    operation: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Failed {
    operation: &'static str,
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Database {
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InPool {
    pool: &'static str,
}

/// Creates a histogram of a family.
fn latencies() -> Histogram {
    Histogram::new(BUCKETS)
}

type Times<L> = Family<L, Histogram, fn() -> Histogram>;

/// Metrics of a store.
#[derive(Clone)]
pub(crate) struct StoreCounts {
    times: Times<Asked>,
    errors: Family<Failed, Counter>,
    each: [(Histogram, [Counter; KINDS.len()]); Operation::ALL.len()],
    database: Family<Database, Gauge>,
    idle: Family<InPool, Gauge>,
    used: Family<InPool, Gauge>,
    most: Family<InPool, Gauge>,
    waits: Times<InPool>,
}

impl Default for StoreCounts {
    fn default() -> Self {
        let times = Times::new_with_constructor(latencies as fn() -> Histogram);
        let errors = Family::<Failed, Counter>::default();
        let each = Operation::ALL.map(|operation| {
            let operation = operation.as_str();
            let failed = KINDS.map(|kind| errors.get_or_create_owned(&Failed { operation, kind }));
            (times.get_or_create_owned(&Asked { operation }), failed)
        });
        let (database, idle, used, most) = Default::default();
        let waits = Times::new_with_constructor(latencies as fn() -> Histogram);
        Self { times, errors, each, database, idle, used, most, waits }
    }
}

impl MetricSet for StoreCounts {
    fn register(&self, registry: &mut Registry) {
        let help = "Time that the store took for an operation, successful or not, in seconds";
        registry.register("store_seconds", help, self.times.clone());
        let help = "Errors of the store, by kind. conflict (another server appended first) and compacted (history was \
            dropped) are normal; the others are faults";
        registry.register("store_errors", help, self.errors.clone());
        registry.register("store_info", "The kind of database", self.database.clone());
        let help = "Idle connections to the database, by pool: shared for appends and reads, heartbeats; \
            with SQLite reads and writes";
        registry.register("store_connections_idle", help, self.idle.clone());
        registry.register("store_connections_used", "Connections to the database in use", self.used.clone());
        let help = "Maximum number of connections to the database in a pool";
        registry.register("store_connections_max", help, self.most.clone());
        let help = "Time that callers waited for a connection when all were in use, in seconds";
        registry.register("store_connection_wait_seconds", help, self.waits.clone());
    }
}

impl StoreCounts {
    /// Sets the kind of the database.
    pub(crate) fn is(&self, kind: &'static str) {
        self.database.get_or_create(&Database { kind }).set(1);
    }

    /// Counts a call and its duration.
    pub(crate) fn asked<T>(&self, operation: Operation, time: Duration, answer: &Result<T, StoreError>) {
        let (times, failed) = &self.each[operation as usize];
        times.observe(time.as_secs_f64());
        if let Err(error) = answer {
            failed[kind(error)].inc();
        }
    }

    /// The metrics of the connections of a pool with at most `most` of them.
    pub(crate) fn pool(&self, pool: &'static str, most: usize) -> PoolUse {
        let label = InPool { pool };
        self.most.get_or_create(&label).set(i64::try_from(most).unwrap_or(i64::MAX));
        PoolUse {
            idle: self.idle.get_or_create_owned(&label),
            used: self.used.get_or_create_owned(&label),
            waits: Latencies(self.waits.get_or_create_owned(&label)),
        }
    }
}

/// Metrics of the connections of a pool.
#[derive(Clone, Default)]
pub(crate) struct PoolUse {
    idle: Gauge,
    used: Gauge,
    waits: Latencies,
}

impl PoolUse {
    pub(crate) fn taken(&self) {
        self.used.inc();
    }

    pub(crate) fn given_back(&self) {
        self.used.dec();
    }

    pub(crate) fn idle(&self, count: usize) {
        self.idle.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    pub(crate) fn waited(&self, time: Duration) {
        self.waits.took(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_the_counters_of_its_name() {
        assert!(Operation::ALL.iter().enumerate().all(|(place, operation)| *operation as usize == place));
    }
}
