//! The database's side: what it is asked, what it answers, and how it fails.

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

/// The number by which links to the database are cut.
pub const DATABASE: HostId = HostId::MAX;

/// The namespace that all use.
pub const NAMESPACE: &str = "default";

/// How the database is at the moment.
#[derive(Debug, Default)]
pub struct Weather {
    /// It takes no connections.
    pub is_down: bool,
    /// By how much all takes longer.
    pub slow: Duration,
    /// One answer of so many is lost; 0: none.
    pub loses_answers: u32,
    /// One request of so many is late by up to some seconds; 0: none.
    pub is_late: u32,
}

/// The database.
pub struct Base {
    database: MemoryDatabase,
    ways: BTreeMap<HostId, (Arc<MemoryStore>, Arc<Notify>)>,
    runtime: Runtime,
    /// What its wall clock showed at the beginning of the world.
    pub wall: Duration,
    /// How it is.
    pub weather: Weather,
    /// All that was committed, in order.
    pub commits: Vec<Commit>,
    /// What was lost of that.
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
            weather: Weather::default(),
            commits: Vec::new(),
            losses: Vec::new(),
        }
    }
}

impl Base {
    /// The log as it is.
    #[must_use]
    pub fn log(&self) -> Vec<Arc<Batch>> {
        self.database.log(NAMESPACE)
    }

    /// Whether no session is open, and nothing has been committed since then.
    #[must_use]
    pub fn is_quiet(&self, since: Duration) -> bool {
        let commits_late = |commit: &Commit| matches!(commit.moment, Moment::At(at) if at > since);
        !self.commits.last().is_some_and(commits_late) && open_sessions(&self.log()) == 0
    }

    /// A host's way to the database, and what tells it of appends.
    pub fn way(&mut self, host: HostId) -> Arc<Notify> {
        let hinted = Arc::new(Notify::new());
        self.ways.insert(host, (self.database.server(), hinted.clone()));
        hinted
    }
}

impl World {
    /// Another copy of the database takes over, without the last batches, up to so many.
    pub fn fail_over(&mut self, lost: usize) {
        let log = self.base.log();
        let left = log.len() - lost.min(log.len().saturating_sub(1));
        let Some(last) = left.checked_sub(1).and_then(|last| log.get(last)) else { return };
        if left < log.len() {
            self.base.losses.push(Loss { at: self.now(), after: last.revision().0 });
        }
        self.base.database.restore_to(NAMESPACE, last.revision());
    }

    /// Asks the database, and sends back what it says.
    pub fn ask_database<T: Send + 'static>(
        &mut self,
        host: HostId,
        run: u64,
        asked: Asked<T>,
        reply: oneshot::Sender<Result<T, StoreError>>,
    ) {
        let answer = match self.base.ways.get(&host) {
            _ if self.base.weather.is_down => Err(StoreError::Unavailable("connection refused".to_owned())),
            Some((store, _)) => {
                let clock = i64::try_from((self.base.wall + self.now()).as_millis()).unwrap_or(i64::MAX);
                self.base.database.set_clock_ms(clock);
                self.base.runtime.block_on(asked(store.clone()))
            }
            None => return,
        };
        let loses = self.base.weather.loses_answers;
        let lost = loses > 0 && self.rng.random_range(0..loses) == 0;
        if lost || self.network.is_cut(DATABASE, host) {
            return;
        }
        let delay = LEAST + Duration::from_micros(self.rng.random_range(0..3_000));
        let at = self.now() + delay;
        self.add(at, Some((host, run)), Box::new(move |_| drop(reply.send(answer))));
    }

    /// Appends a batch, and tells the others.
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
