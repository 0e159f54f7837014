//! Metrics of the store: calls, latencies, errors and connections.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use tracing::{info, warn};

use super::StoreError;
use crate::telemetry::metrics::{BUCKETS, Latencies, MetricSet};

/// The calls to a store, as label values.
const OPERATIONS: [&str; 11] =
    ["append", "read", "search", "load", "save", "heads", "heartbeat", "mark_dead", "forget", "measure", "trim"];

/// The errors of a store, as label values.
const KINDS: [&str; 4] = ["conflict", "compacted", "unavailable", "outcome_unknown"];

fn kind(error: &StoreError) -> &'static str {
    match error {
        StoreError::Conflict => "conflict",
        StoreError::Compacted(_) => "compacted",
        StoreError::Unavailable(_) => "unavailable",
        StoreError::OutcomeUnknown(_) => "outcome_unknown",
    }
}

/// Names of labels with their values.
type Labels<const N: usize> = [(&'static str, &'static str); N];

type Times = Family<Labels<1>, Histogram, fn() -> Histogram>;

/// Creates a histogram of a family.
fn latencies() -> Histogram {
    Histogram::new(BUCKETS)
}

/// Metrics of a store.
#[derive(Clone)]
pub(crate) struct StoreCounts {
    times: Times,
    errors: Family<Labels<2>, Counter>,
    database: Family<Labels<1>, Gauge>,
    idle: Family<Labels<1>, Gauge>,
    used: Family<Labels<1>, Gauge>,
    most: Family<Labels<1>, Gauge>,
    waits: Times,
    semi_sync_lapsed: Gauge,
}

impl Default for StoreCounts {
    fn default() -> Self {
        let times = Times::new_with_constructor(latencies as fn() -> Histogram);
        let errors = Family::<Labels<2>, Counter>::default();
        // Each series begins at 0, so that the first error is an increase.
        for operation in OPERATIONS {
            times.get_or_create_owned(&[("operation", operation)]);
            for kind in KINDS {
                errors.get_or_create_owned(&[("operation", operation), ("kind", kind)]);
            }
        }
        let (database, idle, used, most, semi_sync_lapsed) = Default::default();
        let waits = Times::new_with_constructor(latencies as fn() -> Histogram);
        Self { times, errors, database, idle, used, most, waits, semi_sync_lapsed }
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
        let help = "1 if commits are to wait for a replica (semi-synchronous replication of MySQL and MariaDB) and do \
            not: a failover may lose them";
        registry.register("store_semi_sync_lapsed", help, self.semi_sync_lapsed.clone());
    }
}

impl StoreCounts {
    /// Sets the kind of the database.
    pub(crate) fn is(&self, kind: &'static str) {
        self.database.get_or_create(&[("kind", kind)]).set(1);
    }

    /// What is known of semi-synchronous replication.
    pub(crate) fn semi_sync(&self) -> SemiSync {
        SemiSync(self.semi_sync_lapsed.clone())
    }

    /// Counts a call, one of [`OPERATIONS`], and its duration.
    pub(super) fn asked<T>(&self, operation: &'static str, time: Duration, answer: &Result<T, StoreError>) {
        self.times.get_or_create(&[("operation", operation)]).observe(time.as_secs_f64());
        if let Err(error) = answer {
            self.errors.get_or_create(&[("operation", operation), ("kind", kind(error))]).inc();
        }
    }

    /// The metrics of the connections of a pool with at most `most` of them.
    pub(crate) fn pool(&self, pool: &'static str, most: usize) -> PoolUse {
        let label = [("pool", pool)];
        self.most.get_or_create(&label).set(i64::try_from(most).unwrap_or(i64::MAX));
        PoolUse {
            idle: self.idle.get_or_create_owned(&label),
            used: self.used.get_or_create_owned(&label),
            waits: Latencies(self.waits.get_or_create_owned(&label)),
        }
    }
}

/// Whether commits are to wait for a replica, and do not.
pub(crate) struct SemiSync(Gauge);

impl SemiSync {
    /// Notes it, and logs when it changes.
    pub(super) fn note(&self, has_lapsed: bool) {
        let had_lapsed = self.0.set(i64::from(has_lapsed)) == 1;
        if has_lapsed && !had_lapsed {
            warn!(
                "semi-synchronous replication has lapsed: commits do not wait for a replica, and a failover may lose them"
            );
        } else if had_lapsed && !has_lapsed {
            info!("semi-synchronous replication works again: commits wait for a replica");
        }
    }
}

/// Metrics of the connections of a pool.
pub(crate) struct PoolUse {
    idle: Gauge,
    pub(crate) used: Gauge,
    pub(crate) waits: Latencies,
}

impl PoolUse {
    pub(crate) fn idle(&self, count: usize) {
        self.idle.set(i64::try_from(count).unwrap_or(i64::MAX));
    }
}
