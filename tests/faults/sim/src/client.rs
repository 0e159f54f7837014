//! Runs the client programs of a simulated host.

use std::sync::Arc;
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::StdRng;
use tenure_checker::{Entry, Recorder};
use tenure_client::{Client, ClientOptions};
use tenure_programs::{Environment, ProgramOptions, Task, start};

use crate::host::{HostContext, HostId, Time};
use crate::leaver;
use crate::wire::{Dialler, address};

/// Number of programs per host that use locks.
const WORKERS: usize = 2;

/// Number of locks.
const LOCKS: u32 = 5;

/// Program settings. No pause after failures: in the simulation, a failed attempt has already taken network time.
const OPTIONS: ProgramOptions = ProgramOptions { graces: 0..1_000, mostly_short: false, pause: None };

/// Parameters of a client host.
#[derive(Clone)]
pub struct ClientParameters {
    /// The servers.
    pub servers: Vec<HostId>,
    /// History that records the programs' operations.
    pub recorder: Recorder,
    /// Seed of the programs' random choices.
    pub seed: u64,
    /// Programs start no further operations after this time.
    pub until: Duration,
}

/// A host, as seen by its programs.
struct HostEnvironment {
    time: Time,
    until: Duration,
    recorder: Recorder,
}

impl Environment for HostEnvironment {
    fn now(&self) -> Duration {
        self.time.now()
    }

    fn may_continue(&self) -> bool {
        self.now() < self.until
    }

    fn write(&self, entry: Entry) {
        self.recorder.write(entry);
    }
}

/// Runs the programs until their time is over.
pub async fn run(context: HostContext, parameters: ClientParameters) {
    let servers: Vec<_> = parameters.servers.iter().map(|server| format!("http://{}", address(*server))).collect();
    let connector = Arc::new(Dialler::new(context.clone()));
    let options = ClientOptions::new()
        .endpoints(&servers)
        .connect_timeout(Duration::from_millis(300))
        .call_timeout(Duration::from_secs(2));
    let recorder = parameters.recorder.clone();
    let client = Client::connect_by(connector.clone(), options).expect("a client");
    let task = Task {
        name: format!("{}-{}", context.host, context.run),
        environment: Arc::new(HostEnvironment {
            time: context.time,
            until: parameters.until,
            recorder: parameters.recorder,
        }),
        servers,
        connector,
        workers: WORKERS,
        locks: LOCKS,
        options: OPTIONS,
    };
    let rng = StdRng::seed_from_u64(parameters.seed ^ context.run);
    let leaver = tokio::spawn(leaver::run(context.clone(), parameters.servers, parameters.until, recorder, rng));
    for program in start(&client, &task, parameters.seed ^ context.run.wrapping_mul(0x9e37_79b9)) {
        // A panicked program shows up through the operations that it leaves unfinished.
        let _ = program.await;
    }
    // The client bounds the time of `close`; remaining sessions end by their TTL.
    let _ = client.close().await;
    let _ = leaver.await;
}
