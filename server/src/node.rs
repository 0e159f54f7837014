//! A node: one run of this server under one id, from its first beat until it stops or finds itself marked dead.

use std::collections::{BTreeSet, HashMap};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use tenure_core::{Command, Revision, ServerId, StreamId, Text};
use tokio::sync::OnceCell;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::budget::Budget;
use crate::clock::Clock;
use crate::lease::Lease;
use crate::limits;
use crate::log_reader::LogReader;
use crate::metrics::Metrics;
use crate::others::{Contact, Others};
use crate::sequencer::passing::Peers;
use crate::sequencer::{self, Namespace, Refusal, Settings};
use crate::store::{Presence, Store, StoreError};
use crate::trouble::Trouble;

/// The namespace that always exists.
const DEFAULT: &str = "default";

/// That there are too many namespaces is logged so often at the most.
const TELL: Duration = Duration::from_secs(60);

/// What a node is started with.
#[derive(Clone, Debug)]
pub struct NodeOptions {
    /// How long others wait for this server's beat to change before they adopt its sessions.
    pub lease: Duration,
    /// What people call it.
    pub label: String,
    /// Where the other servers reach it, as host and port; empty if nowhere.
    pub address: String,
    /// The SHA-256 of the certificate that it shows them there, in hexadecimal; empty if it speaks no TLS.
    pub certificate: String,
    /// How long a claim is kept that nobody attends to.
    pub reattach: Duration,
    /// How often the log is looked at for what other servers appended, where the database does not tell.
    pub poll_interval: Duration,
    /// The most namespaces that requests may fill. What the database has already is always opened, and so is `default`.
    pub max_namespaces: usize,
    /// How long history is kept.
    pub history_retention: Duration,
    /// How much history of each namespace is kept, in bytes of the events as they are stored.
    pub history_max_bytes: u64,
}

/// Why a namespace cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// There are too many of them.
    #[error("namespaces: at most {0}, and there are as many: use one that exists, or raise max_namespaces")]
    TooMany(usize),
    /// Its state cannot be loaded.
    #[error("{0}")]
    Store(#[from] StoreError),
}

/// One run of this server.
pub struct Node {
    id: ServerId,
    options: NodeOptions,
    store: Arc<dyn Store>,
    lease: Arc<Lease>,
    others: Arc<Others>,
    peers: Option<Arc<dyn Peers>>,
    metrics: Metrics,
    log_reader: LogReader,
    watch_budget: Budget,
    watched: Budget,
    namespaces: Mutex<Opened>,
    full: Mutex<Trouble>,
    starts: AtomicU64,
    streams: AtomicU64,
    drains: AtomicBool,
    cancel: CancellationToken,
    tasks: TaskTracker,
}

/// The namespaces that are open, or being opened.
type Opened = HashMap<Text, Arc<Slot>>;

/// Where a namespace is kept once it is open.
#[derive(Default)]
struct Slot {
    namespace: OnceCell<Namespace>,
    /// It was opened by a request that may fill it.
    is_begun: AtomicBool,
}

impl Slot {
    /// Whether it counts towards the most that there may be: what is only looked at does not.
    fn counts(&self) -> bool {
        self.is_begun.load(Ordering::Relaxed) || self.namespace.get().is_some_and(|open| open.revision() > Revision(0))
    }

    /// Whether nothing has ever happened in it, and no request, stream or watch uses it.
    fn is_idle(self: &Arc<Self>) -> bool {
        let is_idle = |open: &Namespace| open.revision() == Revision(0) && open.is_unused();
        // With the lock on the slots, under which clones are made.
        Arc::strong_count(self) == 1 && self.namespace.get().is_some_and(is_idle)
    }
}

/// A namespace that is wanted open.
struct Wanted<'a> {
    node: &'a Node,
    name: &'a str,
    slot: Arc<Slot>,
}

impl Drop for Wanted<'_> {
    /// What could not be opened is removed, unless others want it, too: it must not count.
    fn drop(&mut self) {
        if self.slot.namespace.initialized() {
            return;
        }
        let mut slots = self.node.slots();
        if Arc::strong_count(&self.slot) == 2 {
            slots.remove(self.name);
        }
    }
}

impl Node {
    /// A node that has yet to beat.
    #[must_use]
    pub fn new(
        options: NodeOptions,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        peers: Option<Arc<dyn Peers>>,
        metrics: Metrics,
        cancel: CancellationToken,
    ) -> Arc<Self> {
        // Never 0, and positive as a signed 64-bit number.
        let id = ServerId((rand::random::<u64>() >> 1).max(1));
        let node = Arc::new(Self {
            id,
            options,
            log_reader: LogReader::new(store.clone(), metrics.buffers().of("history")),
            store,
            lease: Arc::new(Lease::new(clock)),
            others: Arc::default(),
            peers,
            watched: Budget::new(limits::WATCHED, metrics.buffers().of("watch_filters")),
            watch_budget: Budget::new(limits::WATCH_KEPT_IN_ALL, metrics.buffers().of("watch_messages")),
            metrics,
            namespaces: Mutex::default(),
            full: Mutex::new(Trouble::told_every(TELL)),
            starts: AtomicU64::new(0),
            streams: AtomicU64::new(0),
            drains: AtomicBool::new(false),
            cancel,
            tasks: TaskTracker::new(),
        });
        node.metrics.state().is_of(&node);
        node
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> ServerId {
        self.id
    }

    /// Its lease.
    #[must_use]
    pub fn lease(&self) -> &Arc<Lease> {
        &self.lease
    }

    /// Its store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// What it was started with.
    #[must_use]
    pub fn options(&self) -> &NodeOptions {
        &self.options
    }

    /// Of which the names and prefixes of watches are.
    pub(crate) fn watched(&self) -> &Budget {
        &self.watched
    }

    /// What it counts with.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Ends with the node.
    #[must_use]
    pub fn cancelled(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Says with the next beat, and all that follow, that it drains.
    pub(crate) fn set_draining(&self) {
        self.drains.store(true, Ordering::Relaxed);
    }

    /// Whether it drains.
    pub(crate) fn drains(&self) -> bool {
        self.drains.load(Ordering::Relaxed)
    }

    /// The other servers that live.
    #[must_use]
    pub fn others(&self) -> &Others {
        &self.others
    }

    /// A number for a new stream.
    #[must_use]
    pub fn next_stream(&self) -> StreamId {
        StreamId(self.streams.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// A namespace, opened if it was not. One in which nothing ever happened is closed again when it is no longer used.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn namespace(&self, name: &str) -> Result<Namespace, StoreError> {
        self.open(name, self.slot(name)).await
    }

    /// A namespace for a request that may fill it.
    ///
    /// # Errors
    /// If it is a new one, and there are as many as may be; or if the store cannot be read.
    pub async fn namespace_to_fill(&self, name: &str) -> Result<Namespace, OpenError> {
        if let Some(slot) = self.slot_to_fill(name) {
            return Ok(self.open(name, slot).await?);
        }
        // Another server may have begun it, or this one has not opened it yet.
        if self.store.heads().await?.iter().any(|(known, _)| **known == *name) {
            return Ok(self.namespace(name).await?);
        }
        let bound = self.options.max_namespaces;
        if self.full.lock().unwrap_or_else(PoisonError::into_inner).fails(Instant::now()) {
            tracing::warn!(
                max_namespaces = bound,
                "no new namespace is opened: raise max_namespaces, or restrict who may"
            );
        }
        Err(OpenError::TooMany(bound))
    }

    async fn open(&self, name: &str, slot: Arc<Slot>) -> Result<Namespace, StoreError> {
        let wanted = Wanted { node: self, name, slot };
        // In a box, so that the futures of those who find it open, which are all but one, are small.
        Ok(wanted.slot.namespace.get_or_try_init(|| Box::pin(self.start(name))).await?.clone())
    }

    /// Where a namespace is kept once it is open. Loading one keeps nobody from the others.
    fn slot(&self, name: &str) -> Arc<Slot> {
        let mut slots = self.slots();
        if let Some(found) = slots.get(name) {
            return found.clone();
        }
        close_idle(&mut slots);
        slots.entry(name.into()).or_default().clone()
    }

    /// The same for a request that may fill it. `None`: it is new, and there are as many as may be.
    fn slot_to_fill(&self, name: &str) -> Option<Arc<Slot>> {
        let mut slots = self.slots();
        if let Some(found) = slots.get(name).filter(|found| found.counts()) {
            return Some(found.clone());
        }
        close_idle(&mut slots);
        let is_full = || slots.values().filter(|slot| slot.counts()).count() >= self.options.max_namespaces;
        if name != DEFAULT && is_full() {
            return None;
        }
        let slot = slots.entry(name.into()).or_default().clone();
        slot.is_begun.store(true, Ordering::Relaxed);
        Some(slot)
    }

    /// Closes namespaces in which nothing ever happened and that are not used. To be called now and then.
    pub(crate) fn close_idle(&self) {
        close_idle(&mut self.slots());
    }

    fn slots(&self) -> MutexGuard<'_, Opened> {
        self.namespaces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn start(&self, name: &str) -> Result<Namespace, StoreError> {
        let settings = Settings {
            me: self.id,
            reattach: self.options.reattach,
            lease: self.lease.clone(),
            others: self.others.clone(),
            peers: self.peers.clone(),
            metrics: self.metrics.clone(),
            log_reader: self.log_reader.clone(),
            watch_budget: self.watch_budget.clone(),
            cancel: self.cancel.clone(),
            first_number: self.starts.fetch_add(1, Ordering::Relaxed) << 32,
        };
        let (namespace, running) = sequencer::start(name.into(), self.store.clone(), settings).await?;
        let break_down = self.break_down();
        self.tasks.spawn(async move {
            if let Err(error) = running.await {
                tracing::error!(%error, "a sequencer failed");
                break_down();
            }
        });
        Ok(namespace)
    }

    /// Ends the node because a part of it is broken: while it beats, nobody else does what that part did.
    fn break_down(&self) -> impl FnOnce() + Send + use<> {
        let (lease, cancel) = (self.lease.clone(), self.cancel.clone());
        move || {
            lease.give_up();
            cancel.cancel();
        }
    }

    /// The namespaces that are open here.
    #[must_use]
    pub fn open_namespaces(&self) -> Vec<Namespace> {
        self.slots().values().filter_map(|slot| slot.namespace.get().cloned()).collect()
    }

    /// This server's presence with this beat.
    pub(crate) fn presence(&self, beat: u64) -> Presence {
        let NodeOptions { lease, label, address, certificate, .. } = self.options.clone();
        Presence { server: self.id, beat, lease, label, address, certificate, dead: false }
    }

    /// Takes note of all leases and of the other servers that live, according to the servers table.
    pub(crate) fn note_others(&self, servers: &[Presence]) {
        servers.iter().for_each(|server| self.others.note_lease(server.lease));
        let others = servers.iter().filter(|other| other.server != self.id && !other.dead);
        let staying = others.clone().filter(|other| !other.drains()).count();
        let contact =
            |other: &Presence| Contact { address: other.address.clone(), certificate: other.certificate.clone() };
        self.others.note(others.map(|other| (other.server, contact(other))).collect(), staying);
    }

    /// The lease had run out and holds again: every session lives for a full TTL from now.
    pub(crate) fn refresh(&self) {
        for namespace in self.open_namespaces() {
            namespace.refresh();
        }
    }

    /// Opens all namespaces that the store has.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn open_all(&self) -> Result<(), StoreError> {
        for (name, _) in self.store.heads().await? {
            self.namespace(&name).await?;
        }
        Ok(())
    }

    /// The servers that have something in some namespace which another one adopts if they die, as far as is known here.
    pub(crate) async fn homes(&self) -> Result<BTreeSet<ServerId>, Refusal> {
        let mut homes = BTreeSet::new();
        for namespace in self.open_namespaces() {
            homes.extend(namespace.read(|table| table.servers().collect::<Vec<_>>()).await?);
        }
        Ok(homes)
    }

    /// Takes over what dead servers were the home of.
    pub(crate) async fn adopt(&self, dead: &[ServerId]) -> Result<(), Refusal> {
        for namespace in self.open_namespaces() {
            for &dead in dead {
                namespace.decide(Command::Adopt { dead, by: self.id }).await?;
            }
        }
        Ok(())
    }

    /// Ends everything that runs for this node, and waits for it.
    pub async fn stop(&self) {
        self.cancel.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Runs a task that ends with the node. If it panics, the node ends with it.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let (cancel, break_down) = (self.cancel.clone(), self.break_down());
        let task = AssertUnwindSafe(task).catch_unwind();
        self.tasks.spawn(async move {
            tokio::select! {
                () = cancel.cancelled() => {}
                ended = task => if ended.is_err() {
                    tracing::error!("a task of the server failed");
                    break_down();
                }
            }
        });
    }
}

fn close_idle(slots: &mut Opened) {
    slots.retain(|name, slot| **name == *DEFAULT || !slot.is_idle());
}
