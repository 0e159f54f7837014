//! Runs one seed: servers and clients, a period of faults, a period of peace, and the check of the history.

use std::mem::take;
use std::time::Duration;

use rand::RngExt;
use tenure_checker::{Past, Recorder, Violation, check};

use crate::client::{self, Given};
use crate::defect::{Defect, clock};
use crate::host::{HostId, Pace};
use crate::machine;
use crate::world::World;
use crate::{faults, server, story};

/// Busy period, in which clients start operations and faults happen, of one in [`LONG_ONES`] runs.
const LONG: Duration = Duration::from_secs(12);

/// Busy period of all other runs; shorter, so that more runs fit into the same time.
const SHORT: Duration = Duration::from_secs(3);

/// One run in this many is long.
const LONG_ONES: u64 = 4;

/// Duration of the peace after the last fault. All holds end within it.
const PEACE: Duration = Duration::from_secs(20);

/// A run ends early when no session is open and nothing was committed for this long.
const QUIET: Duration = Duration::from_secs(2);

/// Interval of that check.
const LOOK: Duration = Duration::from_millis(500);

/// The hosts that take part in a run.
#[derive(Clone)]
pub struct Cast {
    /// The servers.
    pub servers: Vec<HostId>,
    /// The clients.
    pub clients: Vec<HostId>,
    diary: Recorder,
    seed: u64,
    /// Period in which clients start operations and faults happen.
    pub busy: Duration,
}

impl Cast {
    /// All hosts of the run.
    pub fn all(&self) -> impl Iterator<Item = HostId> {
        self.servers.iter().chain(&self.clients).copied()
    }

    /// Starts a server.
    pub fn start_server(&self, world: &mut World, host: HostId) {
        let (hinted, database) = world.base.way(host);
        world.start(host, move |here| server::run(here, hinted, database));
    }

    /// Starts a client.
    pub fn start_client(&self, world: &mut World, host: HostId) {
        let given = Given {
            servers: self.servers.clone(),
            diary: self.diary.clone(),
            seed: self.seed.wrapping_add(host as u64),
            until: self.busy,
        };
        world.start(host, move |here| client::run(here, given));
    }
}

/// Result of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// Number of events.
    pub steps: u64,
    /// Digest of all events. Identical runs have identical digests.
    pub trace: u64,
    /// Number of acquired locks.
    pub acquired: u64,
    /// Violations found.
    pub violations: Vec<Violation>,
}

/// Runs a seed in its own thread, with a defect or without, and prints the run if `tells` is set.
#[must_use]
pub fn run(seed: u64, defect: Option<Defect>, tells: bool) -> Report {
    let thread = std::thread::Builder::new().stack_size(8 * 1024 * 1024);
    let thread = thread.spawn(move || alone(seed, defect, tells));
    thread.expect("a thread").join().expect("no panic")
}

fn alone(seed: u64, defect: Option<Defect>, tells: bool) -> Report {
    machine::seed(seed);
    let mut world = World::new(seed, defect);
    let hosts = |world: &mut World, count: usize, factor: f64| -> Vec<HostId> {
        (0..count)
            .map(|_| {
                let rate = factor + world.rng.random_range(-200..=200) as f64 / 1e6;
                let wall = Duration::from_secs(1_800_000_000 + world.rng.random_range(0..60));
                world.add_host(Pace { rate, wall })
            })
            .collect()
    };
    let (servers, clients) = (world.rng.random_range(1..=3), world.rng.random_range(1..=3));
    let cast = Cast {
        servers: hosts(&mut world, servers, 1.0),
        clients: hosts(&mut world, clients, clock::rate_of_clients(defect)),
        diary: Recorder::default(),
        seed,
        busy: if seed.is_multiple_of(LONG_ONES) { LONG } else { SHORT },
    };
    for server in &cast.servers {
        cast.start_server(&mut world, *server);
    }
    for client in &cast.clients {
        cast.start_client(&mut world, *client);
    }
    faults::begin(&mut world, &cast);
    world.run_until(cast.busy + cast.busy.mul_f64(faults::LONGEST));
    let peace_ends = world.now() + PEACE;
    while world.now() < peace_ends && !world.base.is_quiet(world.now().saturating_sub(QUIET)) {
        world.run_until(world.now() + LOOK);
    }
    let history = cast.diary.take();
    let acquired = history.acquired().count() as u64;
    let base = &mut world.base;
    let past = Past { log: base.log(), commits: take(&mut base.commits), losses: take(&mut base.losses) };
    let mut violations = check(&history, &past);
    if tells {
        story::tell(&history, &past, &take(&mut world.faults)).iter().for_each(|line| println!("{line}"));
    }
    violations.extend(machine::panics().into_iter().map(|seen| Violation { rule: "nothing panics".into(), seen }));
    for host in cast.all() {
        world.kill(host, true);
    }
    Report { seed, steps: world.steps, trace: world.trace, acquired, violations }
}
