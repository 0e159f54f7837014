//! A node: one run of this server under one id, from its first heartbeat until it stops or finds itself marked dead.

mod adoption;
pub mod follow;
pub(crate) mod gauges;
pub mod heartbeat;
pub(crate) mod metrics;
mod namespaces;
pub mod readiness;
pub(crate) mod retention;
mod tasks;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tenure_core::{Command, ServerId, StreamId};
use tokio_util::sync::CancellationToken;

pub use self::namespaces::{NamespaceError, Namespaces};
pub use self::tasks::Tasks;

use self::gauges::State;
use crate::cluster::clock::Clock;
use crate::cluster::lease::Lease;
use crate::cluster::membership::{MemberView, Membership};
use crate::limits::{self, Budget, Buffers};
use crate::sequencer::passing::Peers;
use crate::sequencer::{Refusal, Settings};
use crate::store::log_reader::LogReader;
use crate::store::{Presence, Store};
use crate::telemetry::metrics::Metrics;

/// What a node is started with.
#[derive(Clone, Debug)]
pub struct NodeOptions {
    /// How long others wait for this server's heartbeat to change before they adopt its sessions.
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

/// One run of this server.
pub struct Node {
    id: ServerId,
    options: NodeOptions,
    store: Arc<dyn Store>,
    lease: Arc<Lease>,
    membership: Arc<Membership>,
    metrics: Metrics,
    watched: Budget,
    waits: Budget,
    namespaces: Namespaces,
    streams: AtomicU64,
    drains: AtomicBool,
    cancel: CancellationToken,
    tasks: Tasks,
}

impl Node {
    /// A node that has yet to send its first heartbeat.
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
        let (lease, others) = (Arc::new(Lease::new(clock)), Arc::<Membership>::default());
        let tasks = Tasks::new(lease.clone(), cancel.clone());
        let buffers: Buffers = metrics.of();
        let settings = Settings {
            me: id,
            reattach: options.reattach,
            lease: lease.clone(),
            others: others.clone(),
            peers,
            counts: metrics.of(),
            log_reader: LogReader::new(store.clone(), buffers.of("history")),
            watch_budget: Budget::new(limits::WATCH_KEPT_IN_ALL, buffers.of("watch_messages")),
            cancel: cancel.clone(),
            first_number: 0,
        };
        let namespaces = Namespaces::new(store.clone(), settings, tasks.clone(), options.max_namespaces);
        let node = Arc::new(Self {
            id,
            options,
            store,
            lease,
            others,
            watched: Budget::new(limits::WATCHED, buffers.of("watch_filters")),
            waits: Budget::new(limits::WAITS, buffers.of("waiting_acquires")),
            metrics,
            namespaces,
            streams: AtomicU64::new(0),
            drains: AtomicBool::new(false),
            cancel,
            tasks,
        });
        node.metrics.of::<State>().is_of(&node);
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

    /// What Acquires take that may wait.
    pub(crate) fn waits(&self) -> &Budget {
        &self.waits
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

    /// Says with the next heartbeat, and all that follow, that it drains.
    pub(crate) fn set_draining(&self) {
        self.drains.store(true, Ordering::Relaxed);
    }

    /// Whether it drains.
    pub(crate) fn drains(&self) -> bool {
        self.drains.load(Ordering::Relaxed)
    }

    /// The other servers that live.
    #[must_use]
    pub fn membership(&self) -> &Membership {
        &self.membership
    }

    /// A number for a new stream.
    #[must_use]
    pub fn next_stream(&self) -> StreamId {
        StreamId(self.streams.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The namespaces that are open here.
    #[must_use]
    pub fn namespaces(&self) -> &Namespaces {
        &self.namespaces
    }

    /// What runs for this node.
    #[must_use]
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// This server's presence with this heartbeat.
    pub(crate) fn presence(&self, heartbeat: u64) -> Presence {
        let NodeOptions { lease, label, address, certificate, .. } = self.options.clone();
        Presence { server: self.id, heartbeat, lease, label, address, certificate, dead: false }
    }

    /// Takes note of all leases and of the other servers that live, according to the servers table.
    pub(crate) fn note_others(&self, servers: &[Presence]) {
        servers.iter().for_each(|server| self.membership.note_lease(server.lease));
        let others = servers.iter().filter(|other| other.server != self.id && !other.dead);
        let staying = others.clone().filter(|other| !other.drains()).count();
        let member =
            |other: &Presence| MemberView { address: other.address.clone(), certificate: other.certificate.clone() };
        self.membership.note(others.map(|other| (other.server, member(other))).collect(), staying);
    }

    /// The lease had run out and holds again: every session lives for a full TTL from now.
    pub(crate) fn refresh(&self) {
        for namespace in self.namespaces.all() {
            namespace.refresh();
        }
    }

    /// The servers that have something in some namespace which another one adopts if they die, as far as is known here.
    pub(crate) async fn homes(&self) -> Result<BTreeSet<ServerId>, Refusal> {
        let mut homes = BTreeSet::new();
        for namespace in self.namespaces.all() {
            homes.extend(namespace.read(|table| table.servers().collect::<Vec<_>>()).await?);
        }
        Ok(homes)
    }

    /// Takes over what dead servers were the home of.
    pub(crate) async fn adopt(&self, dead: &[ServerId]) -> Result<(), Refusal> {
        for namespace in self.namespaces.all() {
            for &dead in dead {
                namespace.decide(Command::Adopt { dead, by: self.id }).await?;
            }
        }
        Ok(())
    }

    /// Ends everything that runs for this node, and waits for it.
    pub async fn stop(&self) {
        self.tasks.stop().await;
    }
}
