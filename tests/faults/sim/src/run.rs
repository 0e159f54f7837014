//! Runs one seed: servers and clients, a period of faults, a period without faults, and the check of the history.

use std::mem::take;
use std::time::Duration;

use rand::RngExt;
use tenure_checker::{Past, Recorder, Violation, check};

use crate::client::{self, ClientParameters};
use crate::defect::{Defect, clock};
use crate::host::{ClockSettings, HostId};
use crate::machine;
use crate::world::World;
use crate::{faults, server, timeline};

/// Busy period, in which clients start operations and faults happen, of one in [`LONG_RUN_EVERY`] runs.
const LONG: Duration = Duration::from_secs(12);

/// Busy period of all other runs; shorter, so that more runs fit into the same time.
const SHORT: Duration = Duration::from_secs(3);

/// One run in this many is long.
const LONG_RUN_EVERY: u64 = 4;

/// Time without faults at the end of a run. All holds end within it.
const RECOVERY: Duration = Duration::from_secs(20);

/// A run ends early when no session is open and nothing was committed for this long.
const QUIET: Duration = Duration::from_secs(2);

/// Interval of that check.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// The hosts that take part in a run.
#[derive(Clone)]
pub struct Hosts {
    /// The servers.
    pub servers: Vec<HostId>,
    /// The clients.
    pub clients: Vec<HostId>,
    recorder: Recorder,
    seed: u64,
    /// Period in which clients start operations and faults happen.
    pub busy: Duration,
}

impl Hosts {
    /// All hosts of the run.
    pub fn all(&self) -> impl Iterator<Item = HostId> {
        self.servers.iter().chain(&self.clients).copied()
    }

    /// Starts a server.
    pub fn start_server(&self, world: &mut World, host: HostId) {
        let (hinted, database) = world.database.connect(host);
        world.start(host, move |context| server::run(context, hinted, database));
    }

    /// Starts a client.
    pub fn start_client(&self, world: &mut World, host: HostId) {
        let parameters = ClientParameters {
            servers: self.servers.clone(),
            recorder: self.recorder.clone(),
            seed: self.seed.wrapping_add(host as u64),
            until: self.busy,
        };
        world.start(host, move |context| client::run(context, parameters));
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

/// Runs a seed in its own thread, with a defect or without, and prints the run if `prints` is set.
#[must_use]
pub fn run(seed: u64, defect: Option<Defect>, prints: bool) -> Report {
    let thread = std::thread::Builder::new().stack_size(8 * 1024 * 1024);
    let thread = thread.spawn(move || simulate(seed, defect, prints));
    thread.expect("a thread").join().expect("no panic")
}

fn simulate(seed: u64, defect: Option<Defect>, prints: bool) -> Report {
    machine::seed(seed);
    let mut world = World::new(seed, defect);
    let add_hosts = |world: &mut World, count: usize, factor: f64| -> Vec<HostId> {
        (0..count)
            .map(|_| {
                let rate = factor + world.rng.random_range(-200..=200) as f64 / 1e6;
                let wall = Duration::from_secs(1_800_000_000 + world.rng.random_range(0..60));
                world.add_host(ClockSettings { rate, wall })
            })
            .collect()
    };
    let (servers, clients) = (world.rng.random_range(1..=3), world.rng.random_range(1..=3));
    let hosts = Hosts {
        servers: add_hosts(&mut world, servers, 1.0),
        clients: add_hosts(&mut world, clients, clock::rate_of_clients(defect)),
        recorder: Recorder::default(),
        seed,
        busy: if seed.is_multiple_of(LONG_RUN_EVERY) { LONG } else { SHORT },
    };
    for server in &hosts.servers {
        hosts.start_server(&mut world, *server);
    }
    for client in &hosts.clients {
        hosts.start_client(&mut world, *client);
    }
    faults::schedule(&mut world, &hosts);
    world.run_until(hosts.busy + hosts.busy.mul_f64(faults::MAX_DURATION));
    let deadline = world.now() + RECOVERY;
    while world.now() < deadline && !world.database.is_quiet(world.now().saturating_sub(QUIET)) {
        world.run_until(world.now() + CHECK_INTERVAL);
    }
    let history = hosts.recorder.take();
    let acquired = history.acquired().count() as u64;
    let database = &mut world.database;
    let past = Past { log: database.log(), commits: take(&mut database.commits), losses: take(&mut database.losses) };
    let mut violations = check(&history, &past);
    if prints {
        timeline::lines(&history, &past, &take(&mut world.faults)).iter().for_each(|line| println!("{line}"));
    }
    violations.extend(machine::panics().into_iter().map(|seen| Violation { rule: "nothing panics".into(), seen }));
    for host in hosts.all() {
        world.kill(host, true);
    }
    Report { seed, steps: world.steps, trace: world.trace, acquired, violations }
}
