//! The goals of watchers.

use crate::result::Round;
use crate::work::{Bound, Goal};

const TENURE: &str = "tenure-watch-postgres";

/// The goals.
pub fn goals() -> Vec<Goal> {
    let goals = vec![
        Goal::new("4,000 watchers: p99 until all are notified, against etcd", Bound::AtMost(0.2), |round| {
            against(round, 4000)
        }),
        Goal::new("10,000 watchers: p99 until all are notified, against etcd", Bound::AtMost(0.2), |round| {
            against(round, 10_000)
        }),
        Goal::new("4,000 watchers: p99 of an acquire against that without watchers", Bound::AtMost(1.5), |round| {
            acquire(round, 4000)
        }),
        Goal::new("10,000 watchers: p99 of an acquire against that without watchers", Bound::AtMost(1.5), |round| {
            acquire(round, 10_000)
        }),
    ];
    Goal::limited("watchers", goals)
}

fn against(round: &Round, watchers: usize) -> Option<f64> {
    Some(round.p99(TENURE, watchers)? / round.p99("etcd-watch", watchers)?)
}

fn acquire(round: &Round, watchers: usize) -> Option<f64> {
    let p99 = |level| round.extra(TENURE, level, "acquire_p99_in_ms");
    Some(p99(watchers)? / p99(0)?)
}
