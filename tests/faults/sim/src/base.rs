//! Simulates the database: it executes requests, sends responses, and fails.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rand::RngExt;
use tenure_checker::{Commit, Loss, Moment, open_sessions};
use tenure_server::store::{Batch, MemoryDatabase, MemoryStore, Store, StoreError};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Notify, oneshot};

use crate::database::Asked;
use crate::host::HostId;
use crate::network::LEAST;
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
    pub loses_answers: u32,
    /// One request in this many is delayed by up to a few seconds; 0 delays none.
    pub is_late: u32,
}

/// The simulated database.
pub struct Base {
    database: MemoryDatabase,
    ways: BTreeMap<HostId, (Arc<MemoryStore>, Arc<Notify>)>,
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

impl Default for Base {
    fn default() -> Self {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
        Self {
            database: MemoryDatabase::new(),
            ways: BTreeMap::new(),
            runtime,
            wall: Duration::from_secs(1_800_000_000),
            faults: StoreFaults::default(),
            commits: Vec::new(),
            losses: Vec::new(),
        }
    }
}

impl Base {
    /// The current log.
    #[must_use]
    pub fn log(&self) -> Vec<Arc<Batch>> {
        self.database.log(NAMESPACE)
    }

    /// Whether no session is open and nothing was committed after this time.
    #[must_use]
    pub fn is_quiet(&self, since: Duration) -> bool {
        let commits_late = |commit: &Commit| matches!(commit.moment, Moment::At(at) if at > since);
        !self.commits.last().is_some_and(commits_late) && open_sessions(&self.log()) == 0
    }

    /// Opens a host's connection to the database. Returns the notification that other hosts' appends trigger, and the
    /// database.
    pub fn way(&mut self, host: HostId) -> (Arc<Notify>, MemoryDatabase) {
        let hinted = Arc::new(Notify::new());
        self.ways.insert(host, (self.database.server(), hinted.clone()));
        (hinted, self.database.clone())
    }
}

impl World {
    /// Fails over to a copy that lacks up to `lost` of the last batches.
    pub fn fail_over(&mut self, lost: usize) {
        let log = self.base.log();
        let left = log.len() - lost.min(log.len().saturating_sub(1));
        let Some(last) = left.checked_sub(1).and_then(|last| log.get(last)) else { return };
        if left < log.len() {
            self.base.losses.push(Loss { at: self.now(), after: last.revision().0 });
        }
        self.base.database.restore_to(NAMESPACE, last.revision());
    }

    /// Executes a request and sends the response.
    pub fn ask_database<T: Send + 'static>(
        &mut self,
        host: HostId,
        run: u64,
        asked: Asked<T>,
        reply: oneshot::Sender<Result<T, StoreError>>,
    ) {
        let answer = match self.base.ways.get(&host) {
            _ if self.base.faults.is_down => Err(StoreError::Unavailable("connection refused".to_owned())),
            Some((store, _)) => {
                let clock = i64::try_from((self.base.wall + self.now()).as_millis()).unwrap_or(i64::MAX);
                self.base.database.set_clock_ms(clock);
                self.base.runtime.block_on(asked(store.clone()))
            }
            None => return,
        };
        let loses = self.base.faults.loses_answers;
        let lost = loses > 0 && self.rng.random_range(0..loses) == 0;
        if lost || self.network.is_cut(DATABASE, host) {
            return;
        }
        let delay = LEAST + Duration::from_micros(self.rng.random_range(0..3_000));
        let at = self.now() + delay;
        self.add(at, Some((host, run)), Box::new(move |_| drop(reply.send(answer))));
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
        let before = self.base.database.revision(&batch.namespace);
        let appended = Arc::new(batch);
        let batch = appended.clone();
        let asked: Asked<()> = Box::new(move |store| Box::pin(async move { store.append(&batch, notify).await }));
        self.ask_database(host, run, asked, reply);
        if self.base.database.revision(&appended.namespace) == before {
            return;
        }
        self.trace ^= appended.revision().0.wrapping_mul(0xff51_afd7_ed55_8ccd);
        self.base.commits.push(Commit { moment: Moment::At(self.now()), batch: appended });
        if notify {
            let others = self.base.ways.iter().filter(|(other, _)| **other != host);
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
