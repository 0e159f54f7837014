//! Acquire and release: each client repeatedly acquires and releases a lock of its own.

mod commit;
mod disk;
mod empty;
mod etcd;
mod goals;
mod redis;
mod table;
mod tenure;
mod zookeeper;

use crate::measure::Load;
use crate::target::redis::{Fsync, Product};
use crate::target::store::Store;
use crate::work::{Candidate, Levels, Work};

/// The work.
pub fn work() -> Work {
    Work {
        name: "pairs",
        title: "Each client acquires a lock of its own and releases it, over and over. One turn is such a pair.",
        level: "clients",
        levels: Levels::Concurrency,
        candidates: candidates(),
        goals: goals::goals(),
    }
}

fn candidates() -> Vec<Candidate> {
    let mut candidates = vec![empty::candidate(), disk::candidate()];
    candidates.extend(Store::ALL.map(commit::candidate));
    for store in Store::ALL {
        candidates.push(tenure::plain(store, 1));
        candidates.push(tenure::stream(store, 1));
    }
    candidates.push(tenure::plain(Store::Postgres, 3));
    candidates.push(tenure::stream(Store::Postgres, 3));
    candidates.extend([etcd::transaction(), etcd::lock(), zookeeper::candidate()]);
    candidates.push(redis::candidate(Product::Redis, Fsync::Always));
    candidates.push(redis::candidate(Product::Valkey, Fsync::Always).only_at(MANY));
    candidates.push(redis::candidate(Product::Redis, Fsync::EverySecond));
    candidates.extend(table::candidates());
    candidates
}

/// The level of targets for which only one client is of interest.
const ALONE: &[usize] = &[1];

/// The levels of a target that is of interest only beside another of its kind, under load.
const MANY: &[usize] = &[16, 64, 256, 1024];

/// A client's lock.
fn name(load: &Load, client: usize) -> String {
    format!("pairs-{}-{client}", load.number)
}
