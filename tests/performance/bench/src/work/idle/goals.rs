//! The goals of idle clients.

use super::{BYTES, MEMORY};
use crate::work::{Bound, Goal};

const SESSIONS: &str = "tenure-sessions-postgres";
const MANY: usize = 100_000;
/// The number of clients that etcd can serve as well.
const FEWER: usize = 10_000;

/// The goals.
pub fn goals() -> Vec<Goal> {
    let goals = vec![
        Goal::new("100,000 quiet sessions: server memory in MB", Bound::AtMost(110.0), |round| {
            round.extra(SESSIONS, MANY, MEMORY)
        }),
        Goal::new("100,000 quiet sessions: cores used by the server", Bound::AtMost(0.005), |round| {
            Some(round.figures(SESSIONS, MANY)?.usage.server)
        }),
        Goal::new("100,000 quiet sessions: cores used by PostgreSQL", Bound::AtMost(0.02), |round| {
            Some(round.figures(SESSIONS, MANY)?.usage.database)
        }),
        Goal::new("a connection: server memory in bytes", Bound::AtMost(35_000.0), |round| {
            round.extra("tenure-connections-postgres", 1_000, BYTES)
        }),
        Goal::new("a connection: server memory against etcd", Bound::AtMost(0.5), |round| {
            let etcd = round.extra("etcd-connections", 1_000, BYTES)?;
            Some(round.extra("tenure-connections-postgres", 1_000, BYTES)? / etcd)
        }),
        Goal::new("10,000 quiet sessions: server memory for each against etcd", Bound::AtMost(0.5), |round| {
            Some(round.extra(SESSIONS, FEWER, BYTES)? / round.extra("etcd-leases", FEWER, BYTES)?)
        }),
    ];
    Goal::limited("quiet-sessions", goals)
}
