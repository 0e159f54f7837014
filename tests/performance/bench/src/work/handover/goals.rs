//! The goals of handovers.

use crate::result::Round;
use crate::work::{Bound, Goal};

const TENURE: &str = "tenure-stream-postgres";

/// The goals.
pub fn goals() -> Vec<Goal> {
    let goals = vec![
        Goal::new("handover, 1 waiter: p50 against a bare commit and an empty call", Bound::AtMost(1.25), |round| {
            Some(round.p50(TENURE, 1)? / round.p50("commit-and-call-postgres", 1)?)
        }),
        Goal::new("handover: p50 with 1,000 waiters against one", Bound::AtMost(1.1), |round| {
            Some(round.p50(TENURE, 1000)? / round.p50(TENURE, 1)?)
        }),
        Goal::new("handover, 1,000 waiters: p99 against p50", Bound::AtMost(2.0), |round| {
            Some(round.p99(TENURE, 1000)? / round.p50(TENURE, 1000)?)
        }),
        Goal::new("handover, 100 waiters: p50 against etcd", Bound::AtMost(1.0), |round| against(round, "etcd-lock")),
        Goal::new(
            "handover, 100 waiters: p50 against ZooKeeper with the Curator recipe",
            Bound::AtMost(1.0),
            |round| against(round, "zookeeper-recipe"),
        ),
        Goal::new("handover, 100 waiters: p50 against Redis with Redisson's locks", Bound::AtMost(1.0), |round| {
            against(round, "redis-redisson")
        }),
    ];
    Goal::limited("handover", goals)
}

fn against(round: &Round, other: &str) -> Option<f64> {
    Some(round.p50(TENURE, 100)? / round.p50(other, 100)?)
}
