//! Handover: several clients compete for one lock. The holder releases it after a moment and queues up again.

mod etcd;
mod goals;
mod limit;
mod redis;
mod relay;
mod tenure;
mod zookeeper;

use crate::measure::Load;
use crate::work::{Levels, Work};

/// The work.
pub fn work() -> Work {
    Work {
        name: "handover",
        title: "Clients queue up for one lock; its holder releases it after 3 ms and queues up again. One turn is a handover: \
                from when the holder sends its release until the next one knows that it holds the lock.",
        level: "waiters",
        levels: Levels::Own { full: &[1, 10, 100, 1000], quick: &[1, 10] },
        candidates: vec![
            limit::candidate(),
            tenure::candidate(),
            etcd::candidate(),
            zookeeper::candidate(),
            redis::candidate(),
        ],
        goals: goals::goals(),
    }
}

/// The lock that all clients compete for.
fn name(load: &Load) -> String {
    format!("handover-{}", load.number)
}
