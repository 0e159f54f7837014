//! Idle clients: the cost of their presence.

mod connections;
mod etcd;
mod goals;
mod renewals;
mod tenure;

use std::time::Duration;

use crate::work::{Levels, Work};

/// The work.
pub fn work() -> Work {
    Work {
        name: "idle",
        title: "So many sessions (etcd: leases) with a TTL of 30 s hold a lock (a key) each, 100 on one connection (above \
                100,000: on 1,000 connections; in the rows with `clients`: one), and are renewed every 10 s. One turn is a \
                renewal. In the rows with `connections` there is nothing else.",
        level: "at once",
        levels: Levels::Own { full: &[1_000, 10_000, 100_000], quick: &[200] },
        candidates: vec![
            tenure::sessions(),
            etcd::leases(),
            tenure::clients(),
            etcd::clients(),
            connections::tenure(),
            connections::etcd(),
        ],
        goals: goals::goals(),
    }
}

/// The TTL of a session.
const TTL: Duration = Duration::from_secs(30);

/// The number of sessions on a shared connection.
const ON_ONE: usize = 100;

/// The maximum number of shared connections: with more sessions, each has more of them.
const MOST_CONNECTIONS: usize = 1_000;

/// The levels of the works with one session per connection.
const CONNECTIONS: &[usize] = &[200, 1_000];

const MEMORY: &str = "server_memory_in_MB";
const BYTES: &str = "server_memory_for_each_in_bytes";
