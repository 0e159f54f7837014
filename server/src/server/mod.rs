//! The composition root: a store, the server on it, and the TCP listener.

pub mod lifecycle;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio_stream::StreamExt;
use tonic::service::Routes;
use tower::Layer;

use crate::admin::console::{self, Served};
use crate::auth::{Access, CredentialOptions};
use crate::cluster::clock::BootClock;
use crate::config::Config;
use crate::grpc::TtlBounds;
use crate::grpc::authenticate::IdentifyLayer;
use crate::grpc::deadline::DeadlineLayer;
use crate::grpc::request_body;
use crate::grpc::spans::TraceLayer;
use crate::limits::{CONNECTION_WINDOW, RESETS, STREAM_WINDOW, STREAMS};
use crate::node::NodeOptions;
use crate::node::readiness::Readiness;
use crate::peer::{self, Connector};
use crate::process::reload;
use crate::process::watchdog::{self, Watchdog};
use crate::server::lifecycle::{Environment, Opening, ServerParts, Shutdown, Source};
use crate::store::{OpenError, Store, StoreCounts};
use crate::telemetry::metrics::Metrics;
use crate::transport::answers::AnswersLayer;
use crate::transport::cooperative_io::CooperativeIo;
use crate::transport::counting::CountingLayer;
use crate::transport::peer_tls::Proof;
use crate::transport::{self, Accounts, ConnectionLimits, Tls, TlsFiles};

/// HTTP/2 keepalive: the interval of pings and the timeout of a reply, to detect that a client's machine has failed.
const PING: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(10));

/// How long a claim is kept without a connected client or a waiting call: enough for a client to reconnect to another server.
const REATTACH: Duration = Duration::from_secs(5);

/// The options of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The gRPC address; port 0 selects a free port.
    pub listen: SocketAddr,
    /// The TLS files. `None`: no TLS.
    pub tls: Option<TlsFiles>,
    /// The accepted client credentials.
    pub credentials: CredentialOptions,
    /// Connection limits.
    pub connections: ConnectionLimits,
    /// The bounds of TTLs.
    pub ttl: TtlBounds,
    /// The maximum duration of a drain before remaining connections are closed.
    pub drain_timeout: Duration,
    /// The options of its nodes.
    pub node: NodeOptions,
}

impl From<&Config> for ServerOptions {
    fn from(config: &Config) -> Self {
        let settings = &config.settings;
        Self {
            listen: settings.listen,
            tls: config.tls.clone(),
            credentials: config.credentials.clone(),
            connections: config.connections,
            ttl: TtlBounds { min: config.min_ttl.0, max: settings.max_ttl.0 },
            drain_timeout: settings.drain_timeout.0,
            node: NodeOptions {
                lease: settings.server_lease.0,
                label: config.label.clone(),
                address: config.advertise.clone(),
                certificate: String::new(),
                reattach: REATTACH,
                poll_interval: settings.store_poll_interval.0,
                max_namespaces: settings.max_namespaces,
                history_retention: settings.history_retention.0,
                history_max_bytes: settings.history_max_bytes,
            },
        }
    }
}

/// A running server.
pub struct Server {
    /// The gRPC address.
    pub grpc_address: SocketAddr,
    /// The metrics of the server.
    pub metrics: Metrics,
    /// Changes while the server makes progress.
    pub watchdog: Watchdog,
    /// The server, as used by its console.
    pub served: Served,
    readiness: watch::Receiver<Readiness>,
    access: Access,
    shutdown: Shutdown,
    drain_timeout: Duration,
    reload: Arc<Notify>,
    serving: JoinHandle<Result<(), tonic::transport::Error>>,
    living: JoinHandle<()>,
}

impl Server {
    /// Listens and opens the store, retrying until it can be reached. The server is ready once the store has committed
    /// its first heartbeat.
    ///
    /// # Errors
    /// If the address cannot be bound, or the store fails with an error that a retry cannot resolve.
    pub fn start(config: &Config, metrics: Metrics) -> BoxFuture<'_, anyhow::Result<Self>> {
        async move {
            let data_dir = &config.data_dir;
            std::fs::create_dir_all(data_dir)
                .with_context(|| format!("cannot create {} (data_dir)", data_dir.display()))?;
            let options = config.store.clone();
            if let Some(kind) = options.kind() {
                metrics.of::<StoreCounts>().is(kind);
            }
            let opening = Opening { options, migrate: config.settings.store_migrate, counts: metrics.of() };
            let source = match opening.open().await {
                Ok(store) => Source::Open(store),
                Err(error @ OpenError::Unavailable(_)) => {
                    tracing::warn!(%error, "starting without the store");
                    Source::Opening(Box::new(opening))
                }
                Err(error) => return Err(error.into()),
            };
            Self::start_on(config.into(), source, metrics).await
        }
        .boxed()
    }

    /// Starts on an open store.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub fn start_with(options: ServerOptions, store: Arc<dyn Store>) -> BoxFuture<'static, anyhow::Result<Self>> {
        Self::start_on(options, Source::Open(store), Metrics::default()).boxed()
    }

    async fn start_on(mut options: ServerOptions, source: Source, metrics: Metrics) -> anyhow::Result<Self> {
        let listen = options.listen;
        let listener = transport::on(listen).with_context(|| format!("cannot listen on {listen}"))?;
        let address = listener.local_addr()?;
        if let Some(host) = options.node.address.strip_suffix(":0") {
            options.node.address = format!("{host}:{}", address.port());
        }
        let tls = options.tls.map(Tls::load).transpose()?.map(Arc::new);
        let access = Access::load(options.credentials, tls.clone(), &metrics).await;
        let access = access.map_err(anyhow::Error::msg)?;
        warn_about_exposure(address, tls.is_some(), &access);
        let shutdown = Shutdown::default();
        let reload = Arc::<Notify>::default();
        tokio::spawn(shutdown.stop.clone().run_until_cancelled_owned(reload::run(
            tls.clone(),
            access.clone(),
            metrics.of(),
            reload.clone(),
        )));
        let tls = tls.map(|tls| anyhow::Ok((tls, Arc::new(Proof::make()?)))).transpose()?;
        // With credentials but without TLS, servers cannot authenticate each other.
        let connector: Option<Arc<dyn Connector>> = match &tls {
            Some((_, proof)) => {
                options.node.certificate = proof.hash();
                Some(Arc::new(peer::Tls(proof.clone())))
            }
            None => access.is_open().then(|| -> Arc<dyn Connector> { Arc::new(peer::Tcp) }),
        };
        let (advertised, label) = (options.node.address.clone(), options.node.label.clone());
        let environment = Environment { clock: Arc::new(BootClock), connector, metrics: metrics.clone() };
        let parts = ServerParts::from(source, options.ttl, options.node, environment, &shutdown).await?;
        let ServerParts { routes, readiness, life } = parts;
        let counting = CountingLayer::new(&metrics.of())?;
        let served = Served {
            service: in_process(routes.clone(), counting.clone(), access.clone(), address),
            access: access.clone(),
            endpoint: if advertised.is_empty() { address.to_string() } else { advertised },
            has_tls: tls.is_some(),
            label,
        };
        let cut = shutdown.stop.clone();
        let (counts, accounts) = (metrics.of(), Accounts::new(&metrics.of()));
        let connections = transport::connections(listener, tls, options.connections, counts, accounts)
            .map(|stream| stream.map(CooperativeIo::new));
        let serving = tonic::transport::Server::builder()
            .http2_keepalive_interval(Some(PING.0))
            .http2_keepalive_timeout(Some(PING.1))
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_concurrent_streams(STREAMS)
            .http2_max_local_error_reset_streams(Some(RESETS))
            .layer(AnswersLayer)
            .layer(counting)
            .layer(DeadlineLayer::new(metrics.of()))
            .layer(IdentifyLayer::new(access.clone()))
            .layer(TraceLayer::new(address))
            .layer(tower::util::MapRequestLayer::new(request_body::bounded))
            .add_routes(routes)
            .serve_with_incoming_shutdown(connections, async move { cut.cancelled().await });
        let serving = tokio::spawn(serving);
        let (watchdog, life) = watchdog::watched(life);
        let living = tokio::spawn(life);
        Ok(Self {
            grpc_address: address,
            metrics,
            watchdog,
            served,
            readiness,
            access,
            shutdown,
            drain_timeout: options.drain_timeout,
            reload,
            serving,
            living,
        })
    }

    /// The current readiness, and its changes.
    #[must_use]
    pub fn readiness(&self) -> watch::Receiver<Readiness> {
        self.readiness.clone()
    }

    /// Reloads certificates, tokens, keys and policy now.
    pub fn reload(&self) {
        self.reload.notify_one();
    }

    /// Waits until the server has stopped by itself, which is a fault.
    pub async fn stopped(&self) {
        let mut readiness = self.readiness.clone();
        while readiness.changed().await.is_ok() {}
    }

    /// Makes clients fail over, hands over the remaining sessions, and stops. Takes at most three seconds longer than
    /// the drain timeout.
    pub async fn drain_and_stop(mut self) {
        self.shutdown.drain.cancel();
        let drained = tokio::time::timeout(self.drain_timeout, &mut self.living).await;
        self.shutdown.stop.cancel();
        if drained.is_err() {
            // Work that does not end in time is abandoned.
            let _ = tokio::time::timeout(Duration::from_secs(1), &mut self.living).await;
        }
        if tokio::time::timeout(Duration::from_secs(1), &mut self.serving).await.is_err() {
            self.serving.abort();
        }
        self.access.settled().await;
    }
}

fn warn_about_exposure(address: SocketAddr, has_tls: bool, access: &Access) {
    if !address.ip().is_loopback() && !has_tls {
        tracing::warn!(%address, "no TLS: anyone on the network path can read and change all traffic");
    }
    if !address.ip().is_loopback() && access.is_open() {
        tracing::warn!(%address, "no credentials: anyone who can reach this address may make every call");
    }
}

/// The service for calls from within this process, with the layers of network calls except those that need a
/// connection.
fn in_process(routes: Routes, counting: CountingLayer, access: Access, address: SocketAddr) -> console::Service {
    let service = TraceLayer::new(address).layer(routes.prepare());
    console::Service::new(counting.layer(IdentifyLayer::new(access).layer(service)))
}
