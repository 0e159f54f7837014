//! The composition root: a store, a node on it, and the gRPC service in front.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_stream::{Stream, StreamExt};
use tokio_util::sync::CancellationToken;
use tonic::transport::server::TcpIncoming;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use crate::admin::{Readiness, Unready};
use crate::clock::BootClock;
use crate::config::Config;
use crate::gathering::Gathering;
use crate::node::{Node, NodeOptions};
use crate::peers::{Links, PeerCalls};
use crate::poll;
use crate::presence::Beats;
use crate::service::{Api, TtlBounds};
use crate::store::{self, OpenError, Store, StoreOptions};

/// HTTP/2 pings find out that a client's machine has gone: so often, and for so long unanswered.
const PING: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(10));

/// Between two tries to register with the store.
const REGISTER: Duration = Duration::from_millis(500);

/// How often it is checked whether the server can do its work.
const CHECK: Duration = Duration::from_millis(200);

/// How long a claim is kept that nobody attends to: enough for a client to come back by way of another server.
const REATTACH: Duration = Duration::from_secs(5);

/// The most streams on one connection.
const STREAMS: u32 = 10_000;

/// What a server is started with.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Where gRPC is served; port 0 picks a free one.
    pub listen: SocketAddr,
    /// The bounds of TTLs.
    pub ttl: TtlBounds,
    /// How long a drain may take before what is left is cut.
    pub drain_timeout: Duration,
    /// How its nodes are started.
    pub node: NodeOptions,
}

impl From<&Config> for ServerOptions {
    fn from(config: &Config) -> Self {
        Self {
            listen: config.listen,
            ttl: TtlBounds { min: config.min_ttl, max: config.max_ttl },
            drain_timeout: config.drain_timeout,
            node: NodeOptions {
                lease: config.server_lease,
                label: config.label.clone(),
                address: config.advertise.clone(),
                reattach: REATTACH,
                poll_interval: config.store.poll_interval,
                max_namespaces: config.max_namespaces,
                history_retention: config.history_retention,
            },
        }
    }
}

/// A running server.
pub struct Server {
    address: SocketAddr,
    readiness: watch::Receiver<Readiness>,
    draining: CancellationToken,
    stop: CancellationToken,
    drain_timeout: Duration,
    serving: JoinHandle<Result<(), tonic::transport::Error>>,
    living: JoinHandle<()>,
}

impl Server {
    /// Starts to listen, and opens the store. The server is ready when the store has taken its first beat; until the store
    /// can be reached it keeps trying.
    ///
    /// # Errors
    /// If the address cannot be listened on, or the store will not do however long one tries.
    pub async fn start(config: &Config) -> anyhow::Result<Self> {
        let data_dir = &config.data_dir;
        std::fs::create_dir_all(data_dir).with_context(|| format!("cannot make {} (data_dir)", data_dir.display()))?;
        let opening = Opening { options: config.into(), migrate: config.store.migrate };
        let source = match opening.open().await {
            Ok(store) => Source::Open(store),
            Err(error @ OpenError::Unavailable(_)) => {
                tracing::warn!(%error, "starting without the store");
                Source::Opening(opening)
            }
            Err(error) => return Err(error.into()),
        };
        Self::start_on(config.into(), source).await
    }

    /// Starts on a store that is open.
    ///
    /// # Errors
    /// If the address cannot be listened on.
    pub async fn start_with(options: ServerOptions, store: Arc<dyn Store>) -> anyhow::Result<Self> {
        Self::start_on(options, Source::Open(store)).await
    }

    async fn start_on(mut options: ServerOptions, source: Source) -> anyhow::Result<Self> {
        let listen = options.listen;
        let listener = TcpListener::bind(listen).await.with_context(|| format!("cannot listen on {listen}"))?;
        let address = listener.local_addr()?;
        if let Some(host) = options.node.address.strip_suffix(":0") {
            options.node.address = format!("{host}:{}", address.port());
        }
        let (draining, stop) = (CancellationToken::new(), CancellationToken::new());
        let api = Api::new(options.ttl, draining.clone());
        let (ready, readiness) = watch::channel(Readiness::not(Unready::Starting));
        let (health, health_service) = tonic_health::server::health_reporter();
        set_health(&health, ServingStatus::NotServing).await;
        let services = api
            .routes()
            .add_service(PeerCalls::server(api.clone()))
            .add_service(health_service)
            .add_service(reflection_v1()?)
            .add_service(reflection_v1alpha()?);
        let cut = stop.clone();
        let serving = tonic::transport::Server::builder()
            .http2_keepalive_interval(Some(PING.0))
            .http2_keepalive_timeout(Some(PING.1))
            .max_concurrent_streams(STREAMS)
            .layer(tower::util::MapResponseLayer::new(tell_version))
            .add_routes(services)
            .serve_with_incoming_shutdown(connections(listener), async move { cut.cancelled().await });
        let serving = tokio::spawn(serving);
        let drain_timeout = options.drain_timeout;
        let life = Life { api, options, ready, health, draining: draining.clone(), stop: stop.clone() };
        let living = tokio::spawn(life.run(source));
        Ok(Self { address, readiness, draining, stop, drain_timeout, serving, living })
    }

    /// Where gRPC is served.
    #[must_use]
    pub fn grpc_address(&self) -> SocketAddr {
        self.address
    }

    /// Whether the server can do its work, and changes of that.
    #[must_use]
    pub fn readiness(&self) -> watch::Receiver<Readiness> {
        self.readiness.clone()
    }

    /// Waits until the server has stopped by itself, which is a fault.
    pub async fn stopped(&self) {
        let mut readiness = self.readiness.clone();
        while readiness.changed().await.is_ok() {}
    }

    /// Sends clients elsewhere, hands over the sessions that stay, and stops. Takes no longer than the drain timeout and a little.
    pub async fn drain_and_stop(mut self) {
        self.draining.cancel();
        let drained = tokio::time::timeout(self.drain_timeout, &mut self.living).await;
        self.stop.cancel();
        if drained.is_err() {
            // Nothing more is to be done about what does not end in time.
            let _ = tokio::time::timeout(Duration::from_secs(1), &mut self.living).await;
        }
        if tokio::time::timeout(Duration::from_secs(1), &mut self.serving).await.is_err() {
            self.serving.abort();
        }
    }
}

/// Where the store comes from.
enum Source {
    Open(Arc<dyn Store>),
    Opening(Opening),
}

/// A store that is to be opened.
struct Opening {
    options: StoreOptions,
    migrate: bool,
}

impl Opening {
    async fn open(&self) -> Result<Arc<dyn Store>, OpenError> {
        if self.migrate {
            store::migrate(&self.options).await?;
        }
        store::open(&self.options).await
    }
}

/// The life of a server: one node after another.
struct Life {
    api: Api,
    options: ServerOptions,
    ready: watch::Sender<Readiness>,
    health: HealthReporter,
    draining: CancellationToken,
    stop: CancellationToken,
}

impl Life {
    async fn run(self, source: Source) {
        let store = tokio::select! {
            store = self.open(source) => store,
            () = self.draining.cancelled() => return,
        };
        while !self.draining.is_cancelled() && !self.stop.is_cancelled() {
            self.run_node(&store).await;
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
                    tracing::warn!(%error, "cannot open the store");
                    self.set_ready(Readiness::not(Unready::Store(error.to_string()))).await;
                }
            }
        }
    }

    /// Runs one node: until it is marked dead, or the server is to stop.
    async fn run_node(&self, store: &Arc<dyn Store>) {
        let cancel = self.stop.child_token();
        let peers = Arc::new(Links::default());
        let node = Node::new(self.options.node.clone(), store.clone(), Arc::new(BootClock), Some(peers), cancel);
        let beats = tokio::select! {
            () = self.draining.cancelled() => return,
            beats = self.register(&node) => beats,
        };
        node.spawn(poll::follow(node.clone()));
        node.spawn(poll::trim(node.clone()));
        self.api.serve(Some(node.clone()));
        tracing::info!(server = %node.id(), "registered");
        let beaten = beats.last_beat();
        tokio::select! {
            () = self.report(&node) => {}
            _ = beats.run() => {
                tracing::error!(server = %node.id(), "marked dead by others: starting over as a new server");
            }
            () = self.drained(&node) => {}
        }
        self.set_ready(Readiness::not(Unready::Starting)).await;
        node.stop().await;
        self.api.serve(None);
        if self.draining.is_cancelled() {
            // So that others adopt at once what is left here. If it cannot be said, they find out by themselves.
            let _ = store.mark_dead(node.id(), beaten.load(std::sync::atomic::Ordering::Acquire)).await;
        }
    }

    async fn register(&self, node: &Arc<Node>) -> Beats {
        loop {
            let opened = match Beats::begin(node.clone()).await {
                Ok(beats) => node.open_all().await.map(|()| beats),
                Err(error) => Err(error),
            };
            match opened {
                Ok(beats) => return beats,
                Err(error) => {
                    tracing::warn!(%error, "cannot register with the store");
                    self.set_ready(Readiness::not(Unready::Store(error.to_string()))).await;
                    tokio::time::sleep(REGISTER).await;
                }
            }
        }
    }

    /// Keeps readiness and health true: the server is ready for as long as it may answer renewals.
    async fn report(&self, node: &Node) {
        loop {
            let readiness = match node.lease().tick() {
                Some(_) => Readiness::READY,
                None => Readiness::not(Unready::LeaseLost),
            };
            self.set_ready(readiness).await;
            tokio::time::sleep(CHECK).await;
        }
    }

    async fn set_ready(&self, readiness: Readiness) {
        if *self.ready.borrow() == readiness {
            return;
        }
        let status = if readiness.is_ready() { ServingStatus::Serving } else { ServingStatus::NotServing };
        set_health(&self.health, status).await;
        self.ready.send_replace(readiness);
    }

    /// The server drains, and no session is attached here any more.
    async fn drained(&self, node: &Node) {
        self.draining.cancelled().await;
        self.set_ready(Readiness::not(Unready::Draining)).await;
        loop {
            let left: usize = node.open_namespaces().iter().map(crate::sequencer::Namespace::stream_count).sum();
            if left == 0 {
                return;
            }
            tokio::time::sleep(CHECK / 4).await;
        }
    }
}

fn connections(listener: TcpListener) -> impl Stream<Item = io::Result<Gathering<TcpStream>>> {
    TcpIncoming::from(listener).with_nodelay(Some(true)).map(|stream| stream.map(Gathering::new))
}

/// Every answer tells which version of the server gave it.
fn tell_version<B>(mut response: http::Response<B>) -> http::Response<B> {
    let version = http::HeaderValue::from_static(env!("CARGO_PKG_VERSION"));
    response.headers_mut().insert("tenure-version", version);
    response
}

/// The services whose health is told, beside that of the server as a whole.
const SERVICES: [&str; 5] =
    ["", "tenure.v1.ClientService", "tenure.v1.LockService", "tenure.v1.SessionService", "tenure.v1.WatchService"];

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
