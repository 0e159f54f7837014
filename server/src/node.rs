//! A node: one run of this server under one id, from its first beat until it stops or finds itself marked dead.

use std::collections::{BTreeSet, HashMap};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use tenure_core::{Command, ServerId, StreamId, Text};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock::Clock;
use crate::lease::Lease;
use crate::metrics::Metrics;
use crate::others::{Contact, Others};
use crate::sequencer::passing::Peers;
use crate::sequencer::{self, Namespace, Refusal, Settings};
use crate::store::{Presence, Store, StoreError};

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
    /// The most namespaces.
    pub max_namespaces: usize,
    /// How long history is kept.
    pub history_retention: Duration,
}

/// Why a namespace cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// There are too many of them.
    #[error("there are {0} namespaces already, and no more are allowed")]
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
    namespaces: Mutex<HashMap<Text, Arc<OnceCell<Namespace>>>>,
    streams: AtomicU64,
    drains: AtomicBool,
    cancel: CancellationToken,
    tasks: TaskTracker,
}

/// The place of a namespace that somebody wants to be open.
struct Place<'a> {
    node: &'a Node,
    name: &'a str,
    cell: Arc<OnceCell<Namespace>>,
}

impl Drop for Place<'_> {
    /// What could not be opened is given up, unless others want it, too: it must not take one of the places that there are.
    fn drop(&mut self) {
        if self.cell.initialized() {
            return;
        }
        let mut places = self.node.places();
        if Arc::strong_count(&self.cell) == 2 {
            places.remove(self.name);
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
            store,
            lease: Arc::new(Lease::new(clock)),
            others: Arc::default(),
            peers,
            metrics,
            namespaces: Mutex::default(),
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

    /// A namespace, opened if it was not.
    ///
    /// # Errors
    /// If there are too many, or the store cannot be read.
    pub async fn namespace(&self, name: &str) -> Result<Namespace, OpenError> {
        let place = Place { node: self, name, cell: self.place(name)? };
        // In a box, so that the futures of those who find it open, which are all but one, are small.
        Ok(place.cell.get_or_try_init(|| Box::pin(self.start(name))).await?.clone())
    }

    /// Where a namespace is kept once it is open. Loading one keeps nobody from the others.
    fn place(&self, name: &str) -> Result<Arc<OnceCell<Namespace>>, OpenError> {
        let mut namespaces = self.places();
        if let Some(found) = namespaces.get(name) {
            return Ok(found.clone());
        }
        if namespaces.len() >= self.options.max_namespaces {
            return Err(OpenError::TooMany(namespaces.len()));
        }
        Ok(namespaces.entry(name.into()).or_default().clone())
    }

    fn places(&self) -> MutexGuard<'_, HashMap<Text, Arc<OnceCell<Namespace>>>> {
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
            cancel: self.cancel.clone(),
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
        self.places().values().filter_map(|place| place.get().cloned()).collect()
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
            match self.namespace(&name).await {
                Ok(_) => {}
                Err(OpenError::Store(error)) => return Err(error),
                Err(OpenError::TooMany(_)) => {
                    tracing::error!(namespace = %name, "not opened, because max_namespaces is reached: its sessions will not expire");
                }
            }
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
