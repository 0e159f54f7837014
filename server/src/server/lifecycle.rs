//! What a server is made of, whatever carries its calls: the services, and the life behind them.

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
use crate::node::heartbeat::{Heartbeats, HeartbeatsEnd, Outlook};
use crate::node::metrics::Lives;
use crate::node::readiness::{Readiness, Unready};
use crate::node::retention;
use crate::node::{Node, NodeOptions};
use crate::peer::{self, Connector, Links, PeerCalls};
use crate::sequencer::passing::Peers;
use crate::store::{self, OpenError, Store, StoreCounts, StoreError, StoreOptions};
use crate::telemetry::log_throttle::LogThrottle;
use crate::telemetry::metrics::Metrics;

/// Between two tries to register with the store.
const REGISTER: Duration = Duration::from_millis(500);

/// That there is no store is told so often at the most.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// What is shown of a database that cannot be used.
const AWAY: &str = "the database cannot be reached or takes no writes: see the server's log";

/// How long a heartbeat that is under way at the end is waited for.
const LAST_HEARTBEAT: Duration = Duration::from_millis(500);

/// How often it is checked whether the server can do its work.
const CHECK: Duration = Duration::from_millis(200);

/// What a server stands on, beside its store.
#[derive(Clone)]
pub struct Environment {
    /// What its lease is measured by.
    pub clock: Arc<dyn Clock>,
    /// How it reaches other servers, to pass commands on. `None`: it passes none on, and takes none.
    pub connector: Option<Arc<dyn Connector>>,
    /// What it counts with.
    pub metrics: Metrics,
}

/// A server without a transport.
pub struct ServerParts {
    /// Its services.
    pub routes: Routes,
    /// Whether it can do its work, and changes of that.
    pub readiness: watch::Receiver<Readiness>,
    /// To be run: ends when the server has drained or stopped.
    pub life: BoxFuture<'static, ()>,
}

/// What ends a server.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    /// Sends clients elsewhere, and ends when they have gone.
    pub drain: CancellationToken,
    /// Shutdown at once.
    pub stop: CancellationToken,
}

impl ServerParts {
    /// A server on a store that is open.
    ///
    /// # Errors
    /// If its services cannot be described.
    pub async fn on(
        store: Arc<dyn Store>,
        ttl: TtlBounds,
        node: NodeOptions,
        environment: Environment,
        shutdown: &Shutdown,
    ) -> anyhow::Result<Self> {
        Self::from(Source::Open(store), ttl, node, environment, shutdown).await
    }

    pub(crate) async fn from(
        source: Source,
        ttl: TtlBounds,
        node: NodeOptions,
        environment: Environment,
        shutdown: &Shutdown,
    ) -> anyhow::Result<Self> {
        let api = Api::new(ttl, shutdown.drain.clone());
        let (ready, readiness) = watch::channel(Readiness::not(Unready::Starting));
        let (health, health_service) = tonic_health::server::health_reporter();
        set_health(&health, ServingStatus::NotServing).await;
        let mut routes = api.routes();
        if environment.connector.is_some() {
            routes = routes.add_service(PeerCalls::server(api.clone()));
        }
        let routes =
            routes.add_service(health_service).add_service(reflection_v1()?).add_service(reflection_v1alpha()?);
        let Shutdown { drain, stop } = shutdown.clone();
        let throttle = Mutex::new(LogThrottle::every(LOG_INTERVAL));
        let life = Lifecycle { api, node, environment, ready, health, draining: drain, stop, throttle };
        Ok(Self { routes, readiness, life: life.run(source).boxed() })
    }
}

/// Where the store comes from.
pub(crate) enum Source {
    Open(Arc<dyn Store>),
    Opening(Box<Opening>),
}

/// A store that is to be opened.
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

/// The life of a server: one node after another.
struct Lifecycle {
    api: Api,
    node: NodeOptions,
    environment: Environment,
    ready: watch::Sender<Readiness>,
    health: HealthReporter,
    draining: CancellationToken,
    stop: CancellationToken,
    /// With the store, until a node has begun on it.
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

    /// Returns when the server is to drain or to stop.
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
        loop {
            tokio::time::sleep(REGISTER).await;
            match opening.open().await {
                Ok(store) => return store,
                Err(error) => {
                    self.lack_store("cannot open the store", &error).await;
                }
            }
        }
    }

    /// Runs one node: until it is marked dead, a part of it breaks, or the server is to stop.
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
        node.tasks().spawn(follow::run(node.clone()));
        node.tasks().spawn(retention::retain(node.clone()));
        if let Some(links) = links {
            node.tasks().spawn(peer::keep_looking(node.clone(), links));
        }
        self.api.serve(Some(node.clone()));
        tracing::info!(server = %node.id(), "registered");
        let (last_heartbeat, outlook) = (heartbeats.last_heartbeat(), heartbeats.outlook());
        let mut heartbeating = pin!(heartbeats.run().fuse());
        let end = tokio::select! {
            () = self.report(&node) => HeartbeatsEnd::NodeEnded,
            end = &mut heartbeating => end,
            () = self.drained(&node, outlook) => HeartbeatsEnd::NodeEnded,
            () = node.cancelled().cancelled() => HeartbeatsEnd::NodeEnded,
        };
        let is_asked = self.draining.is_cancelled() || self.stop.is_cancelled();
        if end == HeartbeatsEnd::MarkedDead {
            tracing::error!(server = %node.id(), "marked dead by others: starting over as a new server");
        } else if !is_asked {
            task_panicked(&node);
        }
        self.set_ready(Readiness::not(Unready::Starting)).await;
        tokio::join!(node.stop(), async {
            if !heartbeating.is_terminated() {
                // The store may be at this heartbeat or at the one before, until it has answered.
                let _ = tokio::time::timeout(LAST_HEARTBEAT, &mut heartbeating).await;
            }
        });
        self.api.serve(None);
        if end == HeartbeatsEnd::MarkedDead {
            return;
        }
        // Calls may still be under way: once others adopt, none may answer a renewal.
        node.lease().give_up();
        // So that others adopt at once what is left here. If it cannot be said, they find out by themselves.
        let _ = store.mark_dead(node.id(), last_heartbeat.load(Ordering::Acquire)).await;
        if !is_asked {
            self.pause().await;
        }
    }

    /// Between two tries.
    async fn pause(&self) {
        tokio::select! {
            () = tokio::time::sleep(REGISTER) => {}
            () = self.ending() => {}
        }
    }

    /// Registers a node and opens all that there is. `None`: another node is to be tried. One that may have registered does not
    /// begin again: a first heartbeat that others have seen before is no sign of life to them.
    async fn register(&self, node: &Arc<Node>) -> Option<Heartbeats> {
        let mut heartbeats = match Heartbeats::begin(node.clone()).await {
            Ok(heartbeats) => heartbeats,
            Err(error) => {
                self.wait_for_store("cannot register with the store", &error).await;
                return None;
            }
        };
        match heartbeats.during(self.open_all(node)).await {
            Ok(Ok(())) => Some(heartbeats),
            Ok(Err(error)) => {
                tracing::error!(server = %node.id(), %error, "loading failed");
                task_panicked(node);
                self.pause().await;
                None
            }
            Err(HeartbeatsEnd::NodeEnded) => {
                task_panicked(node);
                self.pause().await;
                None
            }
            Err(HeartbeatsEnd::MarkedDead) => {
                tracing::error!(server = %node.id(), "marked dead by others while loading: starting over as a new server");
                None
            }
        }
    }

    /// Opens all that there is, however often it takes.
    async fn open_all(&self, node: &Arc<Node>) -> Result<(), JoinError> {
        loop {
            let opening = node.clone();
            // In a task of its own, because it computes for long, and heartbeats must not wait for that.
            let opening = AbortOnDropHandle::new(tokio::spawn(async move { opening.namespaces().open_all().await }));
            match opening.await? {
                Ok(()) => return Ok(()),
                Err(error) => self.wait_for_store("cannot load from the store", &error).await,
            }
        }
    }

    async fn wait_for_store(&self, what: &str, error: &StoreError) {
        self.lack_store(what, error).await;
        tokio::time::sleep(REGISTER).await;
    }

    async fn lack_store(&self, what: &str, error: &(dyn std::error::Error + Sync)) {
        self.log_trouble(what, error);
        self.set_ready(Readiness::not(Unready::Store(AWAY.to_owned()))).await;
    }

    /// Logs that the store cannot be used, now and then.
    fn log_trouble(&self, what: &str, error: impl Display) {
        if self.throttle.lock().unwrap_or_else(PoisonError::into_inner).on_error(Instant::now()) {
            tracing::warn!(%error, "{what}");
        }
    }

    /// Why the store takes nothing, as anyone may see it who asks. The address of a database is for the log only.
    fn shown(&self, node: &Node, reason: String) -> String {
        if node.store().exclusive() {
            return reason;
        }
        self.log_trouble("the store takes no writes", reason);
        AWAY.to_owned()
    }

    /// Keeps readiness and health true: the server is ready for as long as it may answer renewals, and its store takes what is written.
    async fn report(&self, node: &Node) {
        loop {
            let readiness = match (node.lease().tick(), node.store().trouble()) {
                (Some(_), None) => Readiness::READY,
                (Some(_), Some(reason)) => Readiness::not(Unready::Store(self.shown(node, reason))),
                (None, _) => Readiness::not(Unready::LeaseLost),
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

    /// The server drains, and no session is attached here any more, or there is no other server for those that are: none
    /// lives, or those that live drain, too.
    async fn drained(&self, node: &Node, mut outlook: Outlook) {
        self.draining.cancelled().await;
        node.set_draining();
        self.set_ready(Readiness::not(Unready::Draining)).await;
        // Who has come since the last heartbeat is not known yet, and nobody knows yet that this one drains.
        let news = tokio::time::timeout(LAST_HEARTBEAT, outlook.next(node));
        let alone = async {
            // Without the store what is known has to do.
            let _ = news.await;
            while node.others().take_clients() {
                tokio::time::sleep(CHECK / 4).await;
            }
        };
        let left = async {
            while node.namespaces().all().iter().any(|namespace| namespace.stream_count() > 0) {
                tokio::time::sleep(CHECK / 4).await;
            }
        };
        tokio::select! {
            () = left => {}
            () = alone => {}
        }
    }
}

/// The services whose health is told, beside that of the server as a whole.
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
    node.metrics().of::<Lives>().task_panicked();
    tracing::error!(server = %node.id(), "a part of the server failed: starting over as a new server");
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

fn reflection_v1() -> anyhow::Result<
    tonic_reflection::server::v1::ServerReflectionServer<impl tonic_reflection::server::v1::ServerReflection>,
> {
    Ok(reflection().build_v1()?)
}

fn reflection_v1alpha() -> anyhow::Result<
    tonic_reflection::server::v1alpha::ServerReflectionServer<impl tonic_reflection::server::v1alpha::ServerReflection>,
> {
    Ok(reflection().build_v1alpha()?)
}
