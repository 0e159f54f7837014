//! The composition root: a store, a node on it, and the gRPC service in front.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::transport::server::TcpIncoming;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use crate::clock::BootClock;
use crate::node::{Node, NodeOptions};
use crate::poll;
use crate::presence::Beats;
use crate::service::{Api, TtlBounds};
use crate::store::Store;

/// HTTP/2 pings find out that a client's machine has gone: so often, and for so long unanswered.
const PING: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(10));

/// Between two tries to register with the store.
const REGISTER: Duration = Duration::from_millis(500);

/// How often it is checked whether the server can do its work.
const CHECK: Duration = Duration::from_millis(200);

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

/// Whether the server can do its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It can.
    Ready,
    /// It cannot (yet, or any more), and why.
    NotReady(String),
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
    /// Starts to listen. The server is ready when the store has taken its first beat; until then it keeps trying.
    ///
    /// # Errors
    /// If the address cannot be listened on.
    pub async fn start(options: ServerOptions, store: Arc<dyn Store>) -> anyhow::Result<Self> {
        let listen = options.listen;
        let listener = TcpListener::bind(listen).await.with_context(|| format!("cannot listen on {listen}"))?;
        let address = listener.local_addr()?;
        let (draining, stop) = (CancellationToken::new(), CancellationToken::new());
        let api = Api::new(options.ttl, draining.clone());
        let (ready, readiness) = watch::channel(Readiness::NotReady("starting".to_owned()));
        let (health, health_service) = tonic_health::server::health_reporter();
        set_health(&health, ServingStatus::NotServing).await;
        let services =
            api.routes().add_service(health_service).add_service(reflection_v1()?).add_service(reflection_v1alpha()?);
        let cut = stop.clone();
        let serving = tonic::transport::Server::builder()
            .http2_keepalive_interval(Some(PING.0))
            .http2_keepalive_timeout(Some(PING.1))
            .max_concurrent_streams(STREAMS)
            .add_routes(services)
            .serve_with_incoming_shutdown(TcpIncoming::from(listener).with_nodelay(Some(true)), async move {
                cut.cancelled().await
            });
        let serving = tokio::spawn(serving);
        let drain_timeout = options.drain_timeout;
        let life = Life { api, options, store, ready, health, draining: draining.clone(), stop: stop.clone() };
        let living = tokio::spawn(life.run());
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

    /// Waits until the server can do its work.
    pub async fn ready(&self) {
        let mut readiness = self.readiness.clone();
        // Fails only if the server has stopped.
        let _ = readiness.wait_for(|readiness| *readiness == Readiness::Ready).await;
    }

    /// Sends clients elsewhere, hands over the sessions that stay, and stops. Takes no longer than the drain timeout and a little.
    pub async fn drain_and_stop(mut self) {
        self.draining.cancel();
        // Nothing more is to be done about what does not end in time.
        let _ = tokio::time::timeout(self.drain_timeout, &mut self.living).await;
        self.stop.cancel();
        let _ = tokio::time::timeout(Duration::from_secs(1), &mut self.living).await;
        if tokio::time::timeout(Duration::from_secs(1), &mut self.serving).await.is_err() {
            self.serving.abort();
        }
    }
}

/// The life of a server: one node after another.
struct Life {
    api: Api,
    options: ServerOptions,
    store: Arc<dyn Store>,
    ready: watch::Sender<Readiness>,
    health: HealthReporter,
    draining: CancellationToken,
    stop: CancellationToken,
}

impl Life {
    async fn run(self) {
        while !self.draining.is_cancelled() && !self.stop.is_cancelled() {
            self.run_node().await;
        }
    }

    /// Runs one node: until it is marked dead, or the server is to stop.
    async fn run_node(&self) {
        let cancel = self.stop.child_token();
        let node = Node::new(self.options.node.clone(), self.store.clone(), Arc::new(BootClock), cancel);
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
        self.set_ready(Readiness::NotReady("stopping".to_owned())).await;
        node.stop().await;
        self.api.serve(None);
        if self.draining.is_cancelled() {
            // So that others adopt at once what is left here. If it cannot be said, they find out by themselves.
            let _ = self.store.mark_dead(node.id(), beaten.load(std::sync::atomic::Ordering::Acquire)).await;
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
                    self.set_ready(Readiness::NotReady(error.to_string())).await;
                    tokio::time::sleep(REGISTER).await;
                }
            }
        }
    }

    /// Keeps readiness and health true: the server is ready for as long as it may answer renewals.
    async fn report(&self, node: &Node) {
        loop {
            let readiness = match node.lease().tick() {
                Some(_) => Readiness::Ready,
                None => Readiness::NotReady("the store has not taken a beat for too long".to_owned()),
            };
            self.set_ready(readiness).await;
            tokio::time::sleep(CHECK).await;
        }
    }

    async fn set_ready(&self, readiness: Readiness) {
        if *self.ready.borrow() == readiness {
            return;
        }
        let status = match &readiness {
            Readiness::Ready => ServingStatus::Serving,
            Readiness::NotReady(_) => ServingStatus::NotServing,
        };
        set_health(&self.health, status).await;
        self.ready.send_replace(readiness);
    }

    /// The server drains, and no session is attached here any more.
    async fn drained(&self, node: &Node) {
        self.draining.cancelled().await;
        self.set_ready(Readiness::NotReady("draining".to_owned())).await;
        loop {
            let left: usize = node.open_namespaces().await.iter().map(crate::sequencer::Namespace::stream_count).sum();
            if left == 0 {
                return;
            }
            tokio::time::sleep(CHECK / 4).await;
        }
    }
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
