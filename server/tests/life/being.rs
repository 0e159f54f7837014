//! A server of which nothing is missing but the transport, and what callers ask of it.

use std::sync::Arc;
use std::time::Duration;

use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::watch_service_client::WatchServiceClient;
use tenure_proto::v1::{AcquireRequest, WatchRequest, WatchResponse};
use tenure_server::admin::Readiness;
use tenure_server::life::{Ends, Ground, Parts};
use tenure_server::metrics::Metrics;
use tenure_server::service::TtlBounds;
use tenure_server::store::{MemoryDatabase, MemoryStore};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tonic::service::Routes;
use tonic::{Status, Streaming};

use crate::lab::{LabClock, TTL, eventually, options};

pub struct Being {
    pub store: Arc<MemoryStore>,
    pub ends: Ends,
    pub living: JoinHandle<()>,
    metrics: Metrics,
    readiness: watch::Receiver<Readiness>,
    routes: Routes,
}

impl Being {
    pub async fn start(database: &MemoryDatabase) -> Self {
        let (store, ends) = (database.server(), Ends::default());
        let ttl = TtlBounds { min: Duration::from_millis(100), max: Duration::from_secs(3_600) };
        let metrics = Metrics::default();
        let ground = Ground { clock: LabClock::begin(), connector: None, metrics: metrics.clone() };
        let parts = Parts::on(store.clone(), ttl, options(), ground, &ends).await.expect("a server");
        let Parts { routes, readiness, life } = parts;
        Self { store, ends, living: tokio::spawn(life), metrics, readiness, routes: routes.prepare() }
    }

    /// Whether its metrics say so.
    pub fn tells(&self, sample: &str) -> bool {
        self.metrics.text().lines().any(|line| line == sample)
    }

    pub fn is_ready(&self) -> bool {
        self.readiness.borrow().is_ready()
    }

    /// Waits until it can do its work.
    pub async fn ready(&self, limit: Duration) {
        eventually(limit, "ready", async || self.is_ready()).await;
    }

    /// Asks for a lock, without waiting for it. Returns the token.
    pub async fn acquire(&self, session: &str, name: &str) -> Result<u64, Status> {
        let span = |span: Duration| prost_types::Duration::try_from(span).expect("short");
        let request = AcquireRequest {
            names: vec![name.to_owned()],
            session_id: session.to_owned(),
            ttl: Some(span(TTL)),
            wait: Some(span(Duration::ZERO)),
            ..AcquireRequest::default()
        };
        let answer = LockServiceClient::new(self.routes.clone()).acquire(request).await?.into_inner();
        if answer.acquired { Ok(answer.token) } else { Err(Status::aborted("somebody else holds it")) }
    }

    /// Begins a watch of everything. Nothing of it goes on but when it is asked for the next message.
    pub async fn watch(&self) -> Streaming<WatchResponse> {
        let watch = WatchServiceClient::new(self.routes.clone()).watch(WatchRequest::default()).await;
        watch.expect("begun").into_inner()
    }

    /// Takes a free lock.
    pub async fn hold(&self, session: &str, name: &str) -> u64 {
        self.acquire(session, name).await.expect("free")
    }
}
