//! Keep-alives: their maximum rate, and their effect on clients that acquire locks meanwhile.

mod etcd;
mod flood;
mod goals;
mod pairs;
mod tenure;

use crate::work::{Levels, Work};

/// The work.
pub fn work() -> Work {
    Work {
        name: "keep_alive",
        title: "Streams on 8 connections renew a client with a session (etcd: a lease) each, over and over. One turn is a \
                renewal. In the rows with `pairs`, 4 clients acquire and release meanwhile, and one turn is such a pair: \
                alone, and beside 10,000 renewals a second, which is what 100,000 sessions with a TTL of 30 s need.",
        level: "streams",
        levels: Levels::Own { full: &[256], quick: &[16] },
        candidates: vec![tenure::candidate(), etcd::candidate(), pairs::alone(), pairs::beside()],
        goals: goals::goals(),
    }
}
