//! The goals with many held locks.

use super::{ALONE, BESIDE_SNAPSHOTS, LOAD, MEMORY};
use crate::result::Round;
use crate::work::{Bound, Goal};

const SQLITE: &str = "tenure-stream-sqlite";
const POSTGRES: &str = "tenure-stream-postgres";
const FEW: usize = 1_000;
const MANY: usize = 1_000_000;

/// The goals.
pub fn goals() -> Vec<Goal> {
    let goals = vec![
        Goal::new("1,000,000 locks, SQLite: seconds to load them", Bound::AtMost(3.0), |round| {
            round.extra(SQLITE, MANY, LOAD)
        }),
        Goal::new("1,000,000 locks, PostgreSQL: seconds to load them", Bound::AtMost(3.0), |round| {
            round.extra(POSTGRES, MANY, LOAD)
        }),
        Goal::new("1,000,000 locks, SQLite: server memory a lock in bytes", Bound::AtMost(330.0), |round| {
            round.extra(SQLITE, MANY, MEMORY)
        }),
        Goal::new("1,000,000 locks, PostgreSQL: server memory a lock in bytes", Bound::AtMost(330.0), |round| {
            round.extra(POSTGRES, MANY, MEMORY)
        }),
        Goal::new("16 clients, SQLite: rate with 1,000,000 locks against 1,000", Bound::AtLeast(0.9), |round| {
            rate(round, SQLITE)
        }),
        Goal::new("16 clients, PostgreSQL: rate with 1,000,000 locks against 1,000", Bound::AtLeast(0.9), |round| {
            rate(round, POSTGRES)
        }),
        Goal::new("1 client, SQLite: p50 with 1,000,000 locks against 1,000", Bound::AtMost(1.1), |round| {
            alone(round, SQLITE)
        }),
        Goal::new("1 client, PostgreSQL: p50 with 1,000,000 locks against 1,000", Bound::AtMost(1.1), |round| {
            alone(round, POSTGRES)
        }),
        Goal::new(
            "1 client beside snapshots of 1,000,000 locks, PostgreSQL: p99 in ms",
            Bound::AtMost(20.0),
            |round| round.extra(POSTGRES, MANY, BESIDE_SNAPSHOTS),
        ),
    ];
    Goal::limited("many-locks", goals)
}

fn rate(round: &Round, target: &str) -> Option<f64> {
    Some(round.rate(target, MANY)? / round.rate(target, FEW)?)
}

fn alone(round: &Round, target: &str) -> Option<f64> {
    Some(round.extra(target, MANY, ALONE)? / round.extra(target, FEW, ALONE)?)
}
