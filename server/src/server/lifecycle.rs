//! Runs the services of a server and its nodes, independent of the transport.

use std::fmt::Display;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, FusedFuture};
use tokio::sync::watch;
use tokio::task::JoinError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tonic::service::Routes;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use crate::cluster::clock::Clock;
use crate::grpc::{Api, TtlBounds};
use crate::node::follow;
use crate::node::gauges::State;
use crate::node::heartbeat::{HeartbeatReports, Heartbeats, HeartbeatsEnd};
use crate::node::metrics::NodeCounts;
use crate::node::readiness::Readiness;
use crate::node::retention;
use crate::node::{Node, NodeOptions};
use crate::peer::{self, Connector, Links, PeerCalls};
use crate::sequencer::forwarding::Peers;
use crate::store::{self, OpenError, Store, StoreCounts, StoreOptions};
use crate::telemetry::log_throttle::LogThrottle;
use crate::telemetry::metrics::Metrics;

/// The pause before another attempt to open or register with the store.
const REGISTER: Duration = Duration::from_millis(500);

/// The interval at which store failures are logged.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// The public message about an unavailable database.
const AWAY: &str = "the database cannot be reached or rejects writes: see the server's log";

/// Timeout for a heartbeat in flight at the end.
const LAST_HEARTBEAT: Duration = Duration::from_millis(500);

/// The interval at which readiness is checked.
const CHECK: Duration = Duration::from_millis(200);

/// The environment of a server, apart from its store.
#[derive(Clone)]
pub struct Environment {
    /// The clock of its lease.
    pub clock: Arc<dyn Clock>,
    /// Connects to other servers for forwarding. `None`: commands are neither forwarded nor accepted from other
    /// servers.
    pub connector: Option<Arc<dyn Connector>>,
    /// The metrics of the server.
    pub metrics: Metrics,
}

/// A server without a transport.
pub struct ServerParts {
    /// The gRPC services.
    pub routes: Routes,
    /// The current readiness, and its changes.
    pub readiness: watch::Receiver<Readiness>,
    /// The future that runs the server; completes when it has drained or stopped.
    pub life: BoxFuture<'static, ()>,
}

/// Tokens that end a server.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    /// Makes clients fail over, and ends when they have.
    pub drain: CancellationToken,
    /// Stops immediately.
    pub stop: CancellationToken,
}

impl ServerParts {
    /// Creates a server on an open store.
    ///
    /// # Errors
    /// If the descriptors of its services cannot be decoded.
    pub fn on(
        store: Arc<dyn Store>,
        ttl: TtlBounds,
        node: NodeOptions,
        environment: Environment,
        shutdown: &Shutdown,
    ) -> BoxFuture<'_, anyhow::Result<Self>> {
        Self::from(Source::Open(store), ttl, node, environment, shutdown).boxed()
    }

    pub(crate) async fn from(
        source: Source,
        ttl: TtlBounds,
        node: NodeOptions,
        environment: Environment,
        shutdown: &Shutdown,
    ) -> anyhow::Result<Self> {
        let api = Api::new(ttl, shutdown.drain.clone());
        let (ready, readiness) = watch::channel(Readiness::Starting);
        let (health, health_service) = tonic_health::server::health_reporter();
        set_health(&health, ServingStatus::NotServing).await;
        let mut routes = api.routes();
        if environment.connector.is_some() {
            routes = routes.add_service(PeerCalls::server(api.clone()));
        }
        let routes = routes
            .add_service(health_service)
            .add_service(reflection().build_v1()?)
            .add_service(reflection().build_v1alpha()?);
        let Shutdown { drain, stop } = shutdown.clone();
        let throttle = Mutex::new(LogThrottle::every(LOG_INTERVAL));
        let life = Lifecycle { api, node, environment, ready, health, draining: drain, stop, throttle };
        Ok(Self { routes, readiness, life: life.run(source).boxed() })
    }
}

/// An open store, or how to open it.
pub(crate) enum Source {
    Open(Arc<dyn Store>),
    Opening(Box<Opening>),
}

/// A store to be opened.
pub(crate) struct Opening {
    pub(crate) options: StoreOptions,
    pub(crate) migrate: bool,
    pub(crate) counts: StoreCounts,
}

impl Opening {
    pub(crate) async fn open(&self) -> Result<Arc<dyn Store>, OpenError> {
        if self.migrate {
            store::migrate(&self.options).await?;
        }
        store::open_counted(&self.options, &self.counts).await
    }
}

/// Runs a server as a sequence of nodes.
struct Lifecycle {
    api: Api,
    node: NodeOptions,
    environment: Environment,
    ready: watch::Sender<Readiness>,
    health: HealthReporter,
    draining: CancellationToken,
    stop: CancellationToken,
    /// For store failures, until a node has started on it.
    throttle: Mutex<LogThrottle>,
}

impl Lifecycle {
    async fn run(self, source: Source) {
        let store = tokio::select! {
            store = self.open(source) => store,
            () = self.ending() => return,
        };
        let store = store::counted(store, self.environment.metrics.of());
        while !self.draining.is_cancelled() && !self.stop.is_cancelled() {
            self.run_node(&store).await;
        }
    }

    /// Waits until the server is to drain or to stop.
    async fn ending(&self) {
        tokio::select! {
            biased;
            () = self.draining.cancelled() => {}
            () = self.stop.cancelled() => {}
        }
    }

    async fn open(&self, source: Source) -> Arc<dyn Store> {
        let opening = match source {
            Source::Open(store) => return store,
            Source::Opening(opening) => opening,
        };
        tokio::time::sleep(REGISTER).await;
        loop {
            match opening.open().await {
                Ok(store) => return store,
                Err(error) => self.wait_for_store("cannot open the store", &error).await,
            }
        }
    }

    /// Runs one node until it is marked dead, one of its tasks fails, or the server is to stop.
    async fn run_node(&self, store: &Arc<dyn Store>) {
        let cancel = self.stop.child_token();
        let links = self.environment.connector.clone().map(|connector| Arc::new(Links::new(connector)));
        let peers = links.clone().map(|links| -> Arc<dyn Peers> { links });
        let Environment { clock, metrics, .. } = self.environment.clone();
        let node = Node::new(self.node.clone(), store.clone(), clock, peers, metrics, cancel);
        let registered = tokio::select! {
            () = self.ending() => None,
            heartbeats = self.register(&node) => heartbeats,
        };
        let Some(heartbeats) = registered else { return node.stop().await };
        node.tasks.spawn(follow::run(node.clone()));
        node.tasks.spawn(retention::retain(node.clone()));
        if let Some(links) = links {
            node.tasks.spawn(peer::keep_probing(node.clone(), links));
        }
        self.api.serve(Some(node.clone()));
        tracing::info!(server = %node.id, "registered");
        let reports = heartbeats.reports();
        let mut heartbeating = pin!(heartbeats.run().fuse());
        let end = tokio::select! {
            () = self.report(&node) => HeartbeatsEnd::NodeEnded,
            end = &mut heartbeating => end,
            () = self.drained(&node, reports) => HeartbeatsEnd::NodeEnded,
            () = node.cancel.cancelled() => HeartbeatsEnd::NodeEnded,
        };
        let is_asked = self.draining.is_cancelled() || self.stop.is_cancelled();
        if end == HeartbeatsEnd::MarkedDead {
            tracing::error!(server = %node.id, "marked dead by others: starting over as a new server");
        } else if !is_asked {
            task_panicked(&node);
        }
        self.set_ready(Readiness::Starting).await;
        tokio::join!(node.stop(), async {
            if !heartbeating.is_terminated() {
                // Until the store has replied, it may hold this heartbeat or the previous one.
                let _ = tokio::time::timeout(LAST_HEARTBEAT, &mut heartbeating).await;
            }
        });
        self.api.serve(None);
        if end == HeartbeatsEnd::MarkedDead {
            return;
        }
        // Calls may still be in progress: once others adopt, none may answer a renewal.
        node.lease.revoke();
        // Makes other servers adopt immediately. If this fails, they detect the silence themselves.
        let _ = store.mark_dead(node.id, node.heartbeat.load(Ordering::Acquire)).await;
        if !is_asked {
            self.pause().await;
        }
    }

    async fn pause(&self) {
        let _ = tokio::time::timeout(REGISTER, self.ending()).await;
    }

    /// Registers a node and opens all namespaces. `None`: try with another node. A node that may have registered must
    /// not register again, because other servers ignore a first heartbeat that they have already seen.
    async fn register(&self, node: &Arc<Node>) -> Option<Heartbeats> {
        let mut heartbeats = match Heartbeats::begin(node.clone()).await {
            Ok(heartbeats) => heartbeats,
            Err(error) => {
                self.wait_for_store("cannot register with the store", &error).await;
                return None;
            }
        };
        match heartbeats.during(self.open_all(node)).await {
            Ok(Ok(())) => return Some(heartbeats),
            Err(HeartbeatsEnd::MarkedDead) => {
                tracing::error!(server = %node.id, "marked dead by others while loading: starting over as a new server");
                return None;
            }
            Ok(Err(error)) => tracing::error!(server = %node.id, %error, "loading failed"),
            Err(HeartbeatsEnd::NodeEnded) => {}
        }
        task_panicked(node);
        self.pause().await;
        None
    }

    /// Opens all namespaces, retrying until the store allows it.
    async fn open_all(&self, node: &Arc<Node>) -> Result<(), JoinError> {
        loop {
            let opening = node.clone();
            // In a separate task, because heartbeats must not wait for its long computation.
            let opening = AbortOnDropHandle::new(tokio::spawn(async move { opening.namespaces.open_all().await }));
            match opening.await? {
                Ok(()) => return Ok(()),
                Err(error) => self.wait_for_store("cannot load from the store", &error).await,
            }
        }
    }

    async fn wait_for_store(&self, what: &str, error: &(dyn std::error::Error + Sync)) {
        self.log_store_error(what, error);
        self.set_ready(Readiness::Store(AWAY.to_owned())).await;
        tokio::time::sleep(REGISTER).await;
    }

    /// Logs that the store is unavailable, rate-limited.
    fn log_store_error(&self, what: &str, error: impl Display) {
        if self.throttle.lock().unwrap_or_else(PoisonError::into_inner).on_error(Instant::now()) {
            tracing::warn!(%error, "{what}");
        }
    }

    /// The public reason why the store accepts no writes. The address of a database appears only in the log.
    fn shown(&self, node: &Node, reason: String) -> String {
        if node.store.exclusive() {
            return reason;
        }
        self.log_store_error("the store rejects writes", reason);
        AWAY.to_owned()
    }

    /// Keeps readiness and health current: the server is ready while it may answer renewals and its store accepts
    /// writes.
    async fn report(&self, node: &Node) {
        loop {
            let readiness = match (node.lease.tick(), node.store.write_error()) {
                (Some(_), None) => Readiness::Ready,
                (Some(_), Some(reason)) => Readiness::Store(self.shown(node, reason)),
                (None, _) => Readiness::LeaseLost,
            };
            self.set_ready(readiness).await;
            tokio::time::sleep(CHECK).await;
        }
    }

    async fn set_ready(&self, readiness: Readiness) {
        if *self.ready.borrow() == readiness {
            return;
        }
        self.environment.metrics.of::<State>().set_ready(readiness.is_ready());
        let status = if readiness.is_ready() { ServingStatus::Serving } else { ServingStatus::NotServing };
        set_health(&self.health, status).await;
        self.ready.send_replace(readiness);
    }

    /// Waits until the server drains and either no client is connected here, or no other server can take the sessions:
    /// none is live, or all live ones are draining, too.
    async fn drained(&self, node: &Node, mut reports: HeartbeatReports) {
        self.draining.cancelled().await;
        node.drains.store(true, Ordering::Relaxed);
        self.set_ready(Readiness::Draining).await;
        // Servers that started since the last heartbeat are not known yet, and do not know yet that this one drains.
        let news = tokio::time::timeout(LAST_HEARTBEAT, reports.since(node.lease.now()));
        let alone = async {
            // Without the store, the last known state must suffice.
            let _ = news.await;
            while node.membership.take_clients() {
                tokio::time::sleep(CHECK / 4).await;
            }
        };
        let left = async {
            while node.namespaces.all().iter().any(|namespace| namespace.client_count() > 0) {
                tokio::time::sleep(CHECK / 4).await;
            }
        };
        tokio::select! {
            () = left => {}
            () = alone => {}
        }
    }
}

/// The services with a health status; the first is the server as a whole.
const SERVICES: [&str; 7] = [
    "",
    "tenure.v1.ClientService",
    "tenure.v1.GroupService",
    "tenure.v1.LockService",
    "tenure.v1.ServerService",
    "tenure.v1.SessionService",
    "tenure.v1.WatchService",
];

fn task_panicked(node: &Node) {
    node.metrics.of::<NodeCounts>().task_panics.inc();
    tracing::error!(server = %node.id, "a task of the server failed: starting over as a new server");
}

async fn set_health(health: &HealthReporter, status: ServingStatus) {
    for service in SERVICES {
        health.set_service_status(service, status).await;
    }
}

fn reflection() -> tonic_reflection::server::Builder<'static> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(tenure_proto::FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_types::pb::FILE_DESCRIPTOR_SET)
}
