//! A node is one run of this server under one id, from its first heartbeat until it stops or is marked dead.

mod adoption;
pub mod follow;
pub(crate) mod gauges;
pub mod heartbeat;
pub(crate) mod metrics;
mod namespaces;
pub mod readiness;
pub(crate) mod retention;
mod tasks;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use tenure_core::ServerId;
use tokio_util::sync::CancellationToken;

pub use self::namespaces::Namespaces;
pub use self::tasks::Tasks;

use self::gauges::State;
use crate::cluster::clock::Clock;
use crate::cluster::lease::Lease;
use crate::cluster::membership::Membership;
use crate::limits::{self, Budget, Buffers};
use crate::sequencer::Settings;
use crate::sequencer::forwarding::Peers;
use crate::store::Store;
use crate::store::log_reader::LogReader;
use crate::telemetry::metrics::Metrics;

/// The options of a node.
#[derive(Clone, Debug)]
pub struct NodeOptions {
    /// How long other servers wait for a change of this server's heartbeat before they adopt its sessions.
    pub lease: Duration,
    /// The display name of the server.
    pub label: String,
    /// The host and port for other servers; empty if none.
    pub address: String,
    /// The SHA-256 of the certificate that it presents to other servers, in hexadecimal; empty without TLS.
    pub certificate: String,
    /// How long a claim is kept without a connected client or a waiting call.
    pub reattach: Duration,
    /// The polling interval for events of other servers, where the database does not send notifications.
    pub poll_interval: Duration,
    /// The maximum number of namespaces that requests may create. Existing ones and `default` can always be opened.
    pub max_namespaces: usize,
    /// How long history is kept.
    pub history_retention: Duration,
    /// The maximum history of each namespace, in bytes of the events as they are stored.
    pub history_max_bytes: u64,
}

/// One run of this server.
pub struct Node {
    /// The id of this run.
    pub id: ServerId,
    pub(crate) options: NodeOptions,
    pub(crate) store: Arc<dyn Store>,
    /// The node's lease.
    pub lease: Arc<Lease>,
    /// The other servers.
    pub(crate) membership: Arc<Membership>,
    /// The metrics of the server.
    pub metrics: Metrics,
    /// The memory budget for the names and prefixes of watches.
    pub(crate) watched: Budget,
    /// The memory budget for Acquire calls that may wait.
    pub(crate) waits: Budget,
    /// The namespaces that are open at this server.
    pub namespaces: Namespaces,
    /// Whether heartbeats announce that the node is draining.
    pub(crate) drains: AtomicBool,
    /// The number of the last heartbeat sent.
    pub(crate) heartbeat: AtomicU64,
    /// Cancelled when the node ends.
    pub cancel: CancellationToken,
    /// The tasks of this node.
    pub tasks: Tasks,
}

impl Node {
    /// Creates a node that has not sent its first heartbeat.
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
        let (lease, membership) = (Arc::new(Lease::new(clock)), Arc::<Membership>::default());
        let tasks = Tasks::new(lease.clone(), cancel.clone());
        let buffers: Buffers = metrics.of();
        let settings = Settings {
            me: id,
            reattach: options.reattach,
            lease: lease.clone(),
            membership: membership.clone(),
            peers,
            counts: metrics.of(),
            log_reader: Arc::new(LogReader::new(store.clone(), buffers.of("history"))),
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
            membership,
            watched: Budget::new(limits::WATCHED, buffers.of("watch_filters")),
            waits: Budget::new(limits::WAITS, buffers.of("waiting_acquires")),
            metrics,
            namespaces,
            drains: AtomicBool::new(false),
            heartbeat: AtomicU64::new(0),
            cancel,
            tasks,
        });
        node.metrics.of::<State>().is_of(&node);
        node
    }

    /// Ends all tasks of this node, and waits for them.
    pub async fn stop(&self) {
        self.tasks.stop().await;
    }
}
