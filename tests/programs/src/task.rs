//! What programs are given to do, and where they run.

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

/// Where programs run.
pub trait Place: Send + Sync + 'static {
    /// What time it is, by the clock that all places share.
    fn now(&self) -> Duration;

    /// Whether programs may begin something more.
    fn is_time(&self) -> bool;

    /// Writes down what a program did or saw.
    fn write(&self, entry: Entry);
}

/// What programs do in another way on simulated and on real machines.
#[derive(Clone, Debug)]
pub struct Habits {
    /// The disconnect graces of sessions, in ms.
    pub graces: Range<u64>,
    /// Whether most holds are short, so that there are more of them.
    pub mostly_short: bool,
    /// How long after a session could not be opened the next attempt is made, if not at once.
    pub pause: Option<Duration>,
}

/// What the programs of one place are given.
#[derive(Clone)]
pub struct Task {
    /// The place's name, which no other one has, nor the same one when it is started again.
    pub name: String,
    /// The place.
    pub place: Arc<dyn Place>,
    /// The servers, as URLs.
    pub servers: Vec<String>,
    /// How those connect to them who do without the library.
    pub connector: Arc<dyn Connector>,
    /// How many programs use locks.
    pub workers: usize,
    /// How many locks there are.
    pub locks: u32,
    /// How they go about it.
    pub habits: Habits,
}

impl Task {
    /// After an attempt that failed.
    pub(crate) async fn pause(&self) {
        if let Some(pause) = self.habits.pause {
            sleep(pause).await;
        }
    }

    /// One of the servers.
    pub(crate) fn draw_server(&self, rng: &mut StdRng) -> &str {
        &self.servers[rng.random_range(0..self.servers.len())]
    }
}

/// Starts a watcher, which ends with the client, and all others, which end when it is time and are given back. What they draw
/// follows from the seed.
pub fn start(client: &Client, task: &Task, seed: u64) -> Vec<JoinHandle<()>> {
    tokio::spawn(watcher::run(client.clone(), task.clone()));
    let mut rng = StdRng::seed_from_u64(seed);
    let mut own = || StdRng::from_rng(&mut rng);
    let worker = |rng| Worker { client: client.clone(), task: task.clone(), rng };
    let mut programs: Vec<_> = (0..task.workers).map(|_| tokio::spawn(worker(own()).run())).collect();
    programs.push(tokio::spawn(caller::run(task.clone(), own())));
    programs.push(tokio::spawn(spread::run(task.clone(), own())));
    programs.push(tokio::spawn(member::run(client.clone(), task.clone(), own())));
    programs
}
