//! The goals of pairs.

use crate::result::Round;
use crate::work::{Bound, Goal};

/// The goals: ratios of figures measured under the same conditions.
pub fn goals() -> Vec<Goal> {
    let mut goals = alone();
    goals.extend(plain());
    goals.extend(stream());
    goals.extend(mariadb());
    goals.extend(three_servers());
    goals
}

fn goal(text: &'static str, bound: Bound, value: fn(&Round) -> Option<f64>) -> Goal {
    Goal { text, value, bound }
}

/// The ratio of the rate of `one` to that of `other`.
fn times(round: &Round, one: &str, other: &str, level: usize) -> Option<f64> {
    Some(round.rate(one, level)? / round.rate(other, level)?)
}

fn alone() -> Vec<Goal> {
    vec![
        goal("1 client, PostgreSQL: rate against the hand-made table", Bound::AtLeast(1.3), |round| {
            times(round, "tenure-stream-postgres", "table-postgres", 1)
        }),
        goal("1 client, PostgreSQL: rate against etcd", Bound::AtLeast(1.2), |round| {
            times(round, "tenure-stream-postgres", "etcd-txn", 1)
        }),
        // A pair is two changes.
        goal(
            "1 client, PostgreSQL: p50 of half a pair against a bare commit and an empty call",
            Bound::AtMost(1.25),
            |round| {
                let least = round.p50("commit-postgres", 1)? + round.p50("empty-call", 1)?;
                Some(round.p50("tenure-stream-postgres", 1)? / 2.0 / least)
            },
        ),
    ]
}

fn plain() -> Vec<Goal> {
    vec![
        goal("64 clients, plain calls, PostgreSQL: rate against etcd", Bound::AtLeast(3.0), |round| {
            times(round, "tenure-plain-postgres", "etcd-txn", 64)
        }),
        goal("64 clients, plain calls, PostgreSQL: rate against ZooKeeper", Bound::AtLeast(1.0), |round| {
            times(round, "tenure-plain-postgres", "zookeeper", 64)
        }),
        goal("64 clients, plain calls, PostgreSQL: rate against the hand-made table", Bound::AtLeast(5.0), |round| {
            times(round, "tenure-plain-postgres", "table-postgres", 64)
        }),
    ]
}

fn stream() -> Vec<Goal> {
    vec![
        goal("256 clients, library, PostgreSQL: rate against etcd", Bound::AtLeast(20.0), |round| {
            times(round, "tenure-stream-postgres", "etcd-txn", 256)
        }),
        goal("256 clients, library, PostgreSQL: rate against ZooKeeper", Bound::AtLeast(5.0), |round| {
            times(round, "tenure-stream-postgres", "zookeeper", 256)
        }),
        goal("256 clients, library, PostgreSQL: rate against Redis with fsync always", Bound::AtLeast(1.5), |round| {
            times(round, "tenure-stream-postgres", "redis-always", 256)
        }),
        // 5 ms where etcd's is 50 ms.
        goal("256 clients, library, PostgreSQL: p99 against etcd", Bound::AtMost(0.1), |round| {
            Some(round.p99("tenure-stream-postgres", 256)? / round.p99("etcd-txn", 256)?)
        }),
        goal("256 clients, library, SQLite: rate against Redis with fsync always", Bound::AtLeast(1.3), |round| {
            times(round, "tenure-stream-sqlite", "redis-always", 256)
        }),
    ]
}

fn mariadb() -> Vec<Goal> {
    vec![
        goal("1 client, library: MariaDB's rate against PostgreSQL's", Bound::AtLeast(0.8), |round| {
            times(round, "tenure-stream-mariadb", "tenure-stream-postgres", 1)
        }),
        goal("64 clients, plain calls: MariaDB's rate against PostgreSQL's", Bound::AtLeast(0.8), |round| {
            times(round, "tenure-plain-mariadb", "tenure-plain-postgres", 64)
        }),
        goal("256 clients, library: MariaDB's rate against PostgreSQL's", Bound::AtLeast(0.8), |round| {
            times(round, "tenure-stream-mariadb", "tenure-stream-postgres", 256)
        }),
    ]
}

fn three_servers() -> Vec<Goal> {
    vec![
        goal("16 clients, plain calls: rate of three servers against one", Bound::AtLeast(0.9), |round| {
            times(round, "tenure3-plain-postgres", "tenure-plain-postgres", 16)
        }),
        goal("64 clients, plain calls: rate of three servers against one", Bound::AtLeast(0.9), |round| {
            times(round, "tenure3-plain-postgres", "tenure-plain-postgres", 64)
        }),
        goal("256 clients, library: rate of three servers against one", Bound::AtLeast(0.9), |round| {
            times(round, "tenure3-stream-postgres", "tenure-stream-postgres", 256)
        }),
        goal("16 clients, plain calls: p99 of three servers against one", Bound::AtMost(2.0), |round| {
            Some(round.p99("tenure3-plain-postgres", 16)? / round.p99("tenure-plain-postgres", 16)?)
        }),
        goal("64 clients, plain calls: p99 of three servers against one", Bound::AtMost(2.0), |round| {
            Some(round.p99("tenure3-plain-postgres", 64)? / round.p99("tenure-plain-postgres", 64)?)
        }),
        goal("256 clients, library: p99 of three servers against one", Bound::AtMost(2.0), |round| {
            Some(round.p99("tenure3-stream-postgres", 256)? / round.p99("tenure-stream-postgres", 256)?)
        }),
    ]
}
