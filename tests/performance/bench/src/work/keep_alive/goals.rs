//! The goals of keep-alives.

use crate::work::{Bound, Goal};

const STREAMS: usize = 256;

/// The goals.
pub fn goals() -> Vec<Goal> {
    let goals = vec![
        Goal::new("keep-alives on 256 streams: rate against etcd", Bound::AtLeast(5.0), |round| {
            Some(round.rate("tenure-stream-postgres", STREAMS)? / round.rate("etcd-lease", STREAMS)?)
        }),
        Goal::new("keep-alives on 256 streams: revisions written", Bound::AtMost(0.0), |round| {
            round.extra("tenure-stream-postgres", STREAMS, "revisions_written")
        }),
        Goal::new(
            "4 clients' pairs beside 10,000 keep-alives a second: p99 against that alone",
            Bound::AtMost(1.2),
            |round| {
                let beside = round.p99("tenure-pairs-beside-postgres", STREAMS)?;
                Some(beside / round.p99("tenure-pairs-alone-postgres", STREAMS)?)
            },
        ),
    ];
    Goal::limited("keep-alives", goals)
}
