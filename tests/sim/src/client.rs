//! A client's host: its programs, and where they run.

use std::sync::Arc;
use std::time::Duration;

use tenure_checker::{Diary, Entry};
use tenure_client::{Client, ClientOptions};
use tenure_programs::{Habits, Place, Task, start};

use crate::host::{Here, HostId, Time};
use crate::wire::{Dialler, address};

/// How many programs of a host use locks.
const WORKERS: usize = 2;

/// How many locks there are.
const LOCKS: u32 = 5;

/// How programs go about it: what fails has taken its time on the network.
const HABITS: Habits = Habits { graces: 0..1_000, mostly_short: false, pause: None };

/// What a client's host is given.
#[derive(Clone)]
pub struct Given {
    /// The servers.
    pub servers: Vec<HostId>,
    /// Where it writes what it does.
    pub diary: Diary,
    /// What it draws.
    pub seed: u64,
    /// When it begins nothing more.
    pub until: Duration,
}

/// A host, as its programs know it.
struct Site {
    time: Time,
    until: Duration,
    diary: Diary,
}

impl Place for Site {
    fn now(&self) -> Duration {
        self.time.now()
    }

    fn is_time(&self) -> bool {
        self.now() < self.until
    }

    fn write(&self, entry: Entry) {
        self.diary.write(entry);
    }
}

/// Runs until the time is over.
pub async fn run(here: Here, given: Given) {
    let servers: Vec<_> = given.servers.iter().map(|server| format!("http://{}", address(*server))).collect();
    let connector = Arc::new(Dialler(here.clone()));
    let options = ClientOptions::new()
        .endpoints(&servers)
        .connect_timeout(Duration::from_millis(300))
        .call_timeout(Duration::from_secs(2));
    let client = Client::connect_by(connector.clone(), options).expect("a client");
    let task = Task {
        name: format!("{}-{}", here.host, here.run),
        place: Arc::new(Site { time: here.time, until: given.until, diary: given.diary }),
        servers,
        connector,
        workers: WORKERS,
        locks: LOCKS,
        habits: HABITS,
    };
    for program in start(&client, &task, given.seed ^ here.run.wrapping_mul(0x9e37_79b9)) {
        // One that panics is found by what it does not do.
        let _ = program.await;
    }
    // Bounded by the client; what is left ends by its TTL.
    let _ = client.close().await;
}
