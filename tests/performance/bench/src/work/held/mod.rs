//! Many held locks: their memory, their cost to other clients, and the time that a server takes to load them.

mod fill;
mod goals;
mod tenure;

use crate::target::store::Store;
use crate::work::{Levels, Work};

/// The work.
pub fn work() -> Work {
    Work {
        name: "held",
        title: "1,000 sessions hold so many locks, and the tables have been written. One turn is a pair of acquire and release \
                by one of 16 further clients, by one alone in `alone`, and by one beside a watcher that reads snapshots of \
                everything without pause in `beside_snapshots`. Then the server is killed and started again: `load` is the \
                time until it is ready.",
        level: "locks",
        levels: Levels::Own { full: &[1_000, 10_000, 100_000, 1_000_000], quick: &[1_000] },
        candidates: vec![tenure::candidate(Store::Sqlite), tenure::candidate(Store::Postgres)],
        goals: goals::goals(),
    }
}

const LOAD: &str = "load_in_seconds";
const MEMORY: &str = "server_memory_a_lock_in_bytes";
const MEMORY_LOADED: &str = "server_memory_a_lock_after_the_load_in_bytes";
const ALONE: &str = "p50_alone_in_ms";
const BESIDE_SNAPSHOTS: &str = "p99_alone_beside_snapshots_in_ms";
const FILLED: &str = "locks_taken_a_second_at_first";
const WRITTEN: &str = "tables_written_after_seconds";
