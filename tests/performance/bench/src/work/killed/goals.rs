//! The goals with killed clients.

use super::EARLIEST;
use super::tenure::{GRACE, TTL};
use crate::work::{Bound, Goal};

const PROCESSES: usize = 100;
const BY_TTL: &str = "tenure-ttl-postgres";

/// The bound beyond the TTL or the grace, in milliseconds.
const MORE: f64 = 50.0;

/// The goals.
pub fn goals() -> Vec<Goal> {
    vec![
        Goal::new("killed, TTL of 1 s: p99 since the last renewal, in ms", Bound::AtMost(TTL as f64 + MORE), |round| {
            round.p99(BY_TTL, PROCESSES)
        }),
        Goal::new(
            "killed, TTL of 1 s: the earliest since the last renewal, in ms",
            Bound::AtLeast(TTL as f64),
            |round| round.extra(BY_TTL, PROCESSES, EARLIEST),
        ),
        Goal::new(
            "killed, disconnect grace of 300 ms: p99 since the death, in ms",
            Bound::AtMost(GRACE as f64 + MORE),
            |round| round.p99("tenure-grace-postgres", PROCESSES),
        ),
        Goal::new("killed, the least TTLs: p99 against etcd", Bound::AtMost(0.5), |round| {
            Some(round.p99(BY_TTL, PROCESSES)? / round.p99("etcd-lease", PROCESSES)?)
        }),
    ]
}
