//! Watchers: how soon all of many are notified of a change, and the cost to the client that makes it.

mod changes;
mod counting;
mod etcd;
mod goals;
mod tenure;

use crate::measure::Load;
use crate::work::{Levels, Work};

/// The work.
pub fn work() -> Work {
    Work {
        name: "watchers",
        title: "All watch one prefix, each on a stream of its own, on 32 connections. A client acquires a lock there and releases \
                it, every 20 ms, or when all have been notified of that. One turn is a change: from when it is asked for until the \
                last watcher has it.",
        level: "watchers",
        levels: Levels::Own { full: &[0, 100, 4000, 10_000], quick: &[0, 40] },
        candidates: vec![tenure::candidate(), etcd::candidate()],
        goals: goals::goals(),
    }
}

/// The prefix that all watch.
fn prefix(load: &Load) -> String {
    format!("watched-{}/", load.number)
}
