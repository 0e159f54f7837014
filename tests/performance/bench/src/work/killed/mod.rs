//! Killed lock holders: the time until the next client acquires the lock.

mod etcd;
mod goals;
mod kill;
mod tenure;
pub mod victim;

use crate::measure::Load;
use crate::work::{Levels, Work};

/// The work.
pub fn work() -> Work {
    Work {
        name: "killed",
        title: "Processes hold a lock each, for which somebody waits, and are killed with SIGKILL, 10 ms apart. One turn ends when \
                the waiter has the lock; it begins with the last renewal that the killed one sent, or with its death where the \
                session has a disconnect grace (300 ms).",
        level: "processes",
        levels: Levels::Own { full: &[100], quick: &[4] },
        candidates: vec![tenure::by_ttl(), tenure::by_grace(), etcd::candidate()],
        goals: goals::goals(),
    }
}

const EARLIEST: &str = "earliest_in_ms";

/// The lock of a victim.
fn name(load: &Load, victim: usize) -> String {
    format!("killed-{}-{victim}", load.number)
}
