//! The goals of pairs.

use crate::result::Round;
use crate::work::{Bound, Goal};

/// The goals: ratios of figures measured under the same conditions.
pub fn goals() -> Vec<Goal> {
    [
        ("one-client", alone()),
        ("plain-calls", plain()),
        ("many-clients-of-the-library", stream()),
        ("mariadb-and-mysql", other_databases()),
        ("three-servers", three_servers()),
    ]
    .into_iter()
    .flat_map(|(section, goals)| Goal::limited(section, goals))
    .collect()
}

/// The ratio of the rate of `one` to that of `other`.
fn times(round: &Round, one: &str, other: &str, level: usize) -> Option<f64> {
    Some(round.rate(one, level)? / round.rate(other, level)?)
}

/// The p50 of half a pair, which is one change, against that of a commit and a call.
fn half(round: &Round, target: &str, commit: &str) -> Option<f64> {
    Some(round.p50(target, 1)? / 2.0 / (round.p50(commit, 1)? + round.p50("empty-call", 1)?))
}

fn alone() -> Vec<Goal> {
    vec![
        Goal::new("1 client, PostgreSQL: rate against the hand-made table", Bound::AtLeast(1.3), |round| {
            times(round, "tenure-stream-postgres", "table-postgres", 1)
        }),
        Goal::new("1 client, PostgreSQL: rate against etcd", Bound::AtLeast(1.2), |round| {
            times(round, "tenure-stream-postgres", "etcd-txn", 1)
        }),
        Goal::new(
            "1 client, PostgreSQL: p50 of half a pair against a bare commit and an empty call",
            Bound::AtMost(1.25),
            |round| half(round, "tenure-stream-postgres", "commit-postgres"),
        ),
        Goal::new(
            "1 client, SQLite: p50 of half a pair against a bare commit and an empty call",
            Bound::AtMost(1.25),
            |round| half(round, "tenure-stream-sqlite", "commit-sqlite"),
        ),
    ]
}

fn plain() -> Vec<Goal> {
    vec![
        Goal::new("64 clients, plain calls, PostgreSQL: rate against etcd", Bound::AtLeast(3.0), |round| {
            times(round, "tenure-plain-postgres", "etcd-txn", 64)
        }),
        Goal::new("64 clients, plain calls, PostgreSQL: rate against ZooKeeper", Bound::AtLeast(1.0), |round| {
            times(round, "tenure-plain-postgres", "zookeeper", 64)
        }),
        Goal::new(
            "64 clients, plain calls, PostgreSQL: rate against the hand-made table",
            Bound::AtLeast(5.0),
            |round| times(round, "tenure-plain-postgres", "table-postgres", 64),
        ),
        // A pair is two calls.
        Goal::new("64 clients, plain calls, PostgreSQL: calls against empty calls", Bound::AtLeast(0.6), |round| {
            Some(2.0 * times(round, "tenure-plain-postgres", "empty-call", 64)?)
        }),
    ]
}

fn stream() -> Vec<Goal> {
    vec![
        Goal::new("256 clients, library, PostgreSQL: rate against etcd", Bound::AtLeast(25.0), |round| {
            times(round, "tenure-stream-postgres", "etcd-txn", 256)
        }),
        Goal::new("256 clients, library, PostgreSQL: rate against ZooKeeper", Bound::AtLeast(5.0), |round| {
            times(round, "tenure-stream-postgres", "zookeeper", 256)
        }),
        Goal::new(
            "256 clients, library, PostgreSQL: rate against Redis with fsync always",
            Bound::AtLeast(1.3),
            |round| times(round, "tenure-stream-postgres", "redis-always", 256),
        ),
        Goal::new(
            "256 clients, library, PostgreSQL: rate against Valkey with fsync always",
            Bound::AtLeast(1.3),
            |round| times(round, "tenure-stream-postgres", "valkey-always", 256),
        ),
        Goal::new("1,024 clients, library, PostgreSQL: rate against that of 256", Bound::AtLeast(1.0), |round| {
            Some(round.rate("tenure-stream-postgres", 1024)? / round.rate("tenure-stream-postgres", 256)?)
        }),
        Goal::new("256 clients, library, PostgreSQL: p99 against etcd", Bound::AtMost(0.05), |round| {
            Some(round.p99("tenure-stream-postgres", 256)? / round.p99("etcd-txn", 256)?)
        }),
        Goal::new("256 clients, library, SQLite: rate against Redis with fsync always", Bound::AtLeast(1.3), |round| {
            times(round, "tenure-stream-sqlite", "redis-always", 256)
        }),
    ]
}

fn other_databases() -> Vec<Goal> {
    vec![
        Goal::new("1 client, library: MariaDB's rate against PostgreSQL's", Bound::AtLeast(0.8), |round| {
            times(round, "tenure-stream-mariadb", "tenure-stream-postgres", 1)
        }),
        Goal::new("64 clients, plain calls: MariaDB's rate against PostgreSQL's", Bound::AtLeast(0.8), |round| {
            times(round, "tenure-plain-mariadb", "tenure-plain-postgres", 64)
        }),
        Goal::new("256 clients, library: MariaDB's rate against PostgreSQL's", Bound::AtLeast(0.8), |round| {
            times(round, "tenure-stream-mariadb", "tenure-stream-postgres", 256)
        }),
        Goal::new("1 client, library: MySQL's rate against PostgreSQL's", Bound::AtLeast(0.8), |round| {
            times(round, "tenure-stream-mysql", "tenure-stream-postgres", 1)
        }),
        Goal::new("256 clients, library: MySQL's rate against PostgreSQL's", Bound::AtLeast(0.8), |round| {
            times(round, "tenure-stream-mysql", "tenure-stream-postgres", 256)
        }),
    ]
}

fn three_servers() -> Vec<Goal> {
    vec![
        Goal::new("16 clients, plain calls: rate of three servers against one", Bound::AtLeast(0.8), |round| {
            times(round, "tenure3-plain-postgres", "tenure-plain-postgres", 16)
        }),
        Goal::new("64 clients, plain calls: rate of three servers against one", Bound::AtLeast(0.8), |round| {
            times(round, "tenure3-plain-postgres", "tenure-plain-postgres", 64)
        }),
        Goal::new("256 clients, library: rate of three servers against one", Bound::AtLeast(0.75), |round| {
            times(round, "tenure3-stream-postgres", "tenure-stream-postgres", 256)
        }),
        Goal::new("16 clients, plain calls: p99 of three servers against one", Bound::AtMost(2.0), |round| {
            Some(round.p99("tenure3-plain-postgres", 16)? / round.p99("tenure-plain-postgres", 16)?)
        }),
        Goal::new("64 clients, plain calls: p99 of three servers against one", Bound::AtMost(2.0), |round| {
            Some(round.p99("tenure3-plain-postgres", 64)? / round.p99("tenure-plain-postgres", 64)?)
        }),
        Goal::new("256 clients, library: p99 of three servers against one", Bound::AtMost(2.0), |round| {
            Some(round.p99("tenure3-stream-postgres", 256)? / round.p99("tenure-stream-postgres", 256)?)
        }),
    ]
}
