//! One run: a cast of servers and clients, faults for a while, peace, and the check of what happened.

use std::time::Duration;

use rand::RngExt;

use crate::checker::{self, Violation};
use crate::faults;
use crate::history::Diary;
use crate::host::{HostId, Pace};
use crate::machine;
use crate::program::{self, Task};
use crate::world::World;

/// For how long clients begin something, and faults happen.
const BUSY: Duration = Duration::from_secs(12);

/// For how long there is peace after that: all that is held ends within.
const PEACE: Duration = Duration::from_secs(18);

/// How many locks there are.
const LOCKS: u32 = 5;

/// Who takes part.
#[derive(Clone)]
pub struct Cast {
    /// The servers.
    pub servers: Vec<HostId>,
    /// The clients.
    pub clients: Vec<HostId>,
    diary: Diary,
    seed: u64,
}

impl Cast {
    /// All hosts.
    pub fn all(&self) -> impl Iterator<Item = HostId> {
        self.servers.iter().chain(&self.clients).copied()
    }

    /// Starts a server.
    pub fn start_server(&self, world: &mut World, host: HostId) {
        let hinted = world.way_to_database(host);
        world.start(host, move |here| program::server(here, hinted));
    }

    /// Starts a client.
    pub fn start_client(&self, world: &mut World, host: HostId) {
        let task = Task {
            servers: self.servers.clone(),
            diary: self.diary.clone(),
            seed: self.seed.wrapping_add(host as u64),
            until: BUSY,
            locks: LOCKS,
        };
        world.start(host, move |here| program::client(here, task));
    }
}

/// What came of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// How many events there were.
    pub steps: u64,
    /// What all of them come to: two runs that are the same have the same.
    pub trace: u64,
    /// How many times a lock was acquired.
    pub acquired: u64,
    /// What was wrong.
    pub violations: Vec<Violation>,
}

/// Runs a seed, in a thread of its own.
#[must_use]
pub fn run(seed: u64) -> Report {
    let thread = std::thread::Builder::new().stack_size(8 * 1024 * 1024).spawn(move || alone(seed));
    thread.expect("a thread").join().expect("no panic")
}

fn alone(seed: u64) -> Report {
    machine::seed(seed);
    let mut world = World::new(seed);
    let hosts = |world: &mut World, count: usize| -> Vec<HostId> {
        (0..count)
            .map(|_| {
                let rate = 1.0 + world.rng.random_range(-200..=200) as f64 / 1e6;
                let wall = Duration::from_secs(1_800_000_000 + world.rng.random_range(0..60));
                world.add_host(Pace { rate, wall })
            })
            .collect()
    };
    let (servers, clients) = (world.rng.random_range(1..=3), world.rng.random_range(1..=3));
    let cast = Cast {
        servers: hosts(&mut world, servers),
        clients: hosts(&mut world, clients),
        diary: Diary::default(),
        seed,
    };
    for server in &cast.servers {
        cast.start_server(&mut world, *server);
    }
    for client in &cast.clients {
        cast.start_client(&mut world, *client);
    }
    faults::begin(&mut world, &cast, BUSY);
    world.run_until(BUSY + PEACE);
    let history = cast.diary.take();
    let log = world.database.log("default");
    let acquired =
        history.calls.iter().filter(|call| matches!(call.outcome, crate::history::Outcome::Acquired(_))).count() as u64;
    let mut violations = checker::check(&history, &world.commits, &log);
    violations.extend(machine::panics().into_iter().map(|seen| Violation { rule: "nothing panics".into(), seen }));
    for host in cast.all() {
        world.kill(host, true);
    }
    Report { seed, steps: world.steps, trace: world.trace, acquired, violations }
}
