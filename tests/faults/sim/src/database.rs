//! Simulates the database: it executes requests, sends responses, and fails.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rand::RngExt;
use tenure_checker::{Commit, Loss, Moment, open_sessions};
use tenure_server::store::{Batch, MemoryDatabase, MemoryStore, Store, StoreError};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Notify, oneshot};

use crate::host::HostId;
use crate::network::MIN_DELAY;
use crate::store::StoreRequest;
use crate::world::World;

/// Host number of the database in cut links.
pub const DATABASE: HostId = HostId::MAX;

/// Namespace of all programs.
pub const NAMESPACE: &str = "default";

/// Current condition of the database.
#[derive(Debug, Default)]
pub struct StoreFaults {
    /// Whether it refuses connections.
    pub is_down: bool,
    /// Upper bound of the extra delay of each request.
    pub slow: Duration,
    /// One response in this many is lost; 0 loses none.
    pub lost_responses: u32,
    /// One request in this many is delayed by up to a few seconds; 0 delays none.
    pub late_requests: u32,
}

/// The simulated database.
pub struct Database {
    memory: MemoryDatabase,
    connections: BTreeMap<HostId, (Arc<MemoryStore>, Arc<Notify>)>,
    runtime: Runtime,
    /// Wall clock of the database at the beginning of the world.
    pub wall: Duration,
    /// Current condition.
    pub faults: StoreFaults,
    /// All commits, in order.
    pub commits: Vec<Commit>,
    /// Losses of commits.
    pub losses: Vec<Loss>,
}

impl Default for Database {
    fn default() -> Self {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
        Self {
            memory: MemoryDatabase::new(),
            connections: BTreeMap::new(),
            runtime,
            wall: Duration::from_secs(1_800_000_000),
            faults: StoreFaults::default(),
            commits: Vec::new(),
            losses: Vec::new(),
        }
    }
}

impl Database {
    /// The current log.
    #[must_use]
    pub fn log(&self) -> Vec<Arc<Batch>> {
        self.memory.log(NAMESPACE)
    }

    /// Whether no session is open and nothing was committed after this time.
    #[must_use]
    pub fn is_quiet(&self, since: Duration) -> bool {
        let commits_late = |commit: &Commit| matches!(commit.moment, Moment::At(at) if at > since);
        !self.commits.last().is_some_and(commits_late) && open_sessions(&self.log()) == 0
    }

    /// Opens a host's connection to the database. Returns the notification that other hosts' appends trigger, and the
    /// database.
    pub fn connect(&mut self, host: HostId) -> (Arc<Notify>, MemoryDatabase) {
        let hinted = Arc::new(Notify::new());
        self.connections.insert(host, (self.memory.server(), hinted.clone()));
        (hinted, self.memory.clone())
    }
}

impl World {
    /// Fails over to a copy that lacks up to `lost` of the last batches.
    pub fn fail_over(&mut self, lost: usize) {
        let log = self.database.log();
        let kept = log.len() - lost.min(log.len().saturating_sub(1));
        let Some(last) = kept.checked_sub(1).and_then(|last| log.get(last)) else { return };
        if kept < log.len() {
            self.database.losses.push(Loss { at: self.now(), after: last.revision().0 });
        }
        self.database.memory.restore_to(NAMESPACE, last.revision());
    }

    /// Executes a request and sends the response.
    pub fn execute<T: Send + 'static>(
        &mut self,
        host: HostId,
        run: u64,
        request: StoreRequest<T>,
        reply: oneshot::Sender<Result<T, StoreError>>,
    ) {
        let response = match self.database.connections.get(&host) {
            _ if self.database.faults.is_down => Err(StoreError::Unavailable("connection refused".to_owned())),
            Some((store, _)) => {
                let clock = i64::try_from((self.database.wall + self.now()).as_millis()).unwrap_or(i64::MAX);
                self.database.memory.set_clock_ms(clock);
                self.database.runtime.block_on(request(store.clone()))
            }
            None => return,
        };
        let one_in = self.database.faults.lost_responses;
        let lost = one_in > 0 && self.rng.random_range(0..one_in) == 0;
        if lost || self.network.is_cut(DATABASE, host) {
            return;
        }
        let delay = MIN_DELAY + Duration::from_micros(self.rng.random_range(0..3_000));
        let at = self.now() + delay;
        self.add(at, Some((host, run)), Box::new(move |_| drop(reply.send(response))));
    }

    /// Appends a batch and notifies the other servers.
    pub fn append(
        &mut self,
        host: HostId,
        run: u64,
        batch: Batch,
        notify: bool,
        reply: oneshot::Sender<Result<(), StoreError>>,
    ) {
        let before = self.database.memory.revision(&batch.namespace);
        let appended = Arc::new(batch);
        let batch = appended.clone();
        let request: StoreRequest<()> =
            Box::new(move |store| Box::pin(async move { store.append(&batch, notify).await }));
        self.execute(host, run, request, reply);
        if self.database.memory.revision(&appended.namespace) == before {
            return;
        }
        self.trace ^= appended.revision().0.wrapping_mul(0xff51_afd7_ed55_8ccd);
        self.database.commits.push(Commit { moment: Moment::At(self.now()), batch: appended });
        if notify {
            let others = self.database.connections.iter().filter(|(other, _)| **other != host);
            let others: Vec<_> = others.map(|(other, (_, hinted))| (*other, hinted.clone())).collect();
            for (other, hinted) in others {
                if self.network.is_cut(DATABASE, other) {
                    continue;
                }
                let (at, run) = (self.now() + self.network.delay(&mut self.rng), self.host(other).run);
                self.add(at, Some((other, run)), Box::new(move |_| hinted.notify_one()));
            }
        }
    }
}
