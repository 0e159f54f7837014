//! Killed lock holders: the time until the next client acquires the lock.

mod etcd;
mod goals;
pub mod holder;
mod takeover;
mod tenure;

use crate::measure::Load;
use crate::work::{Levels, Work};

/// The work.
pub fn work() -> Work {
    Work {
        name: "killed",
        title: "Processes hold a lock each, for which another client waits, and are killed with SIGKILL, 10 ms apart. \
                One turn ends when the waiter has the lock; it begins with the last renewal that the killed one sent, or with \
                its death where the session has a disconnect grace (300 ms).",
        level: "processes",
        levels: Levels::Own { full: &[100], quick: &[4] },
        candidates: vec![tenure::by_ttl(), tenure::by_grace(), etcd::candidate()],
        goals: goals::goals(),
    }
}

const EARLIEST: &str = "earliest_in_ms";

/// The lock of a holder.
fn name(load: &Load, holder: usize) -> String {
    format!("killed-{}-{holder}", load.number)
}
