//! Defines the task of a program and the environment in which it runs.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tenure_checker::Entry;
use tenure_client::Client;
use tenure_client::transport::Connector;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::worker::Worker;
use crate::{caller, member, spread, watcher};

/// Environment of programs.
pub trait Environment: Send + Sync + 'static {
    /// Current time, by the clock that all environments share.
    fn now(&self) -> Duration;

    /// Whether programs may start further operations.
    fn may_continue(&self) -> bool;

    /// Records an operation or observation of a program.
    fn write(&self, entry: Entry);
}

/// Settings that differ between simulated and real machines.
#[derive(Clone, Debug)]
pub struct ProgramOptions {
    /// The disconnect graces of sessions, in ms.
    pub graces: Range<u64>,
    /// Whether most holds are short, which yields more of them.
    pub mostly_short: bool,
    /// Pause before the next attempt after a session could not be opened. `None` retries at once.
    pub pause: Option<Duration>,
}

/// Parameters of the programs of one environment.
#[derive(Clone)]
pub struct Task {
    /// The environment's name. It is unique, also across restarts of its host or process.
    pub name: String,
    /// The environment.
    pub environment: Arc<dyn Environment>,
    /// The servers, as URLs.
    pub servers: Vec<String>,
    /// Connects the programs that do not use the library.
    pub connector: Arc<dyn Connector>,
    /// Number of programs that use locks.
    pub workers: usize,
    /// Number of locks.
    pub locks: u32,
    /// Settings of the programs.
    pub options: ProgramOptions,
}

impl Task {
    /// Pauses after a failed attempt.
    pub(crate) async fn pause(&self) {
        if let Some(pause) = self.options.pause {
            sleep(pause).await;
        }
    }

    /// Draws one of the servers.
    pub(crate) fn draw_server(&self, rng: &mut StdRng) -> &str {
        &self.servers[rng.random_range(0..self.servers.len())]
    }
}

/// Starts a watcher, which ends with the client, and all other programs, which end when their time is over and whose
/// handles are returned. Their random choices follow from the seed.
pub fn start(client: &Client, task: &Task, seed: u64) -> Vec<JoinHandle<()>> {
    tokio::spawn(watcher::run(client.clone(), task.clone()));
    let mut rng = StdRng::seed_from_u64(seed);
    let mut next_rng = || StdRng::from_rng(&mut rng);
    let worker = |rng| Worker { client: client.clone(), task: task.clone(), rng };
    let mut programs: Vec<_> = (0..task.workers).map(|_| tokio::spawn(worker(next_rng()).run())).collect();
    programs.push(tokio::spawn(caller::run(task.clone(), next_rng())));
    programs.push(tokio::spawn(spread::run(task.clone(), next_rng())));
    programs.push(tokio::spawn(member::run(client.clone(), task.clone(), next_rng())));
    programs
}
