//! Acquire and release: each client takes a lock of its own and gives it back, over and over.

mod tenure;

use crate::target::store::Store;
use crate::work::{Bound, Goal, Levels, Work};

/// The work.
pub fn work() -> Work {
    let mut candidates = Vec::new();
    for store in Store::ALL {
        candidates.push(tenure::plain(store, 1));
        candidates.push(tenure::stream(store, 1));
    }
    candidates.push(tenure::plain(Store::Postgres, 3));
    candidates.push(tenure::stream(Store::Postgres, 3));
    Work {
        name: "pairs",
        title: "Each client acquires a lock of its own and releases it, over and over. One turn is such a pair.",
        level: "clients",
        levels: Levels::Concurrency,
        candidates,
        goals: vec![Goal {
            text: "256 clients, library: MariaDB against PostgreSQL",
            value: |round| Some(round.rate("tenure-stream-mariadb", 256)? / round.rate("tenure-stream-postgres", 256)?),
            bound: Bound::AtLeast(0.8),
        }],
    }
}

/// The lock that a client takes. Each target has names of its own.
fn name(client: usize) -> String {
    format!("pairs-{client}")
}
