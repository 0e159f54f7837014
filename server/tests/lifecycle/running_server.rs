//! A server without its transport, and its callers.

use std::sync::Arc;
use std::time::Duration;

use tenure_proto::v1;
use tenure_proto::v1::answer::Kind as Answered;
use tenure_proto::v1::client_service_client::ClientServiceClient;
use tenure_proto::v1::command::Kind as Commanded;
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::session_service_client::SessionServiceClient;
use tenure_proto::v1::watch_service_client::WatchServiceClient;
use tenure_proto::v1::{AcquireRequest, AcquireResponse, WatchRequest, WatchResponse};
use tenure_server::grpc::TtlBounds;
use tenure_server::node::readiness::Readiness;
use tenure_server::server::lifecycle::{Environment, ServerParts, Shutdown};
use tenure_server::store::{MemoryDatabase, MemoryStore};
use tenure_server::telemetry::metrics::Metrics;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;
use tonic::service::Routes;
use tonic::{Status, Streaming};
use tonic_types::StatusExt;

use crate::lab::{LEASE, LabClock, TTL, eventually, options, within};

pub struct RunningServer {
    pub store: Arc<MemoryStore>,
    pub shutdown: Shutdown,
    pub task: JoinHandle<()>,
    metrics: Metrics,
    readiness: watch::Receiver<Readiness>,
    routes: Routes,
}

impl RunningServer {
    pub async fn start(database: &MemoryDatabase) -> Self {
        let (store, shutdown) = (database.server(), Shutdown::default());
        let ttl = TtlBounds { min: Duration::from_millis(100), max: Duration::from_secs(3_600) };
        let metrics = Metrics::default();
        let environment = Environment { clock: LabClock::begin(), connector: None, metrics: metrics.clone() };
        let parts = ServerParts::on(store.clone(), ttl, options(), environment, &shutdown).await.expect("a server");
        let ServerParts { routes, readiness, life } = parts;
        Self { store, shutdown, task: tokio::spawn(life), metrics, readiness, routes: routes.prepare() }
    }

    /// Whether its metrics contain `sample`.
    pub fn has_sample(&self, sample: &str) -> bool {
        self.metrics.text().lines().any(|line| line == sample)
    }

    pub fn is_ready(&self) -> bool {
        self.readiness.borrow().is_ready()
    }

    /// Waits until the server is ready.
    pub async fn ready(&self, limit: Duration) {
        eventually(limit, "ready", async || self.is_ready()).await;
    }

    /// Acquires a lock, without waiting for it. Returns the token.
    pub async fn acquire(&self, session: &str, name: &str) -> Result<u64, Status> {
        let answer = self.acquire_within(session, name, Duration::ZERO).await?;
        if answer.acquired { Ok(answer.token) } else { Err(Status::aborted("another session holds it")) }
    }

    /// Acquires a lock, waiting up to `wait`.
    pub async fn acquire_within(&self, session: &str, name: &str, wait: Duration) -> Result<AcquireResponse, Status> {
        let request = AcquireRequest {
            names: vec![name.to_owned()],
            session_id: session.to_owned(),
            ttl: Some(span(TTL)),
            wait: Some(span(wait)),
            ..AcquireRequest::default()
        };
        Ok(LockServiceClient::new(self.routes.clone()).acquire(request).await?.into_inner())
    }

    /// Opens a session by a plain call.
    pub async fn open_session(&self, session: &str) -> Result<(), Status> {
        SessionServiceClient::new(self.routes.clone()).open_session(open_request(session)).await.map(drop)
    }

    /// Renews a session by a plain call.
    pub async fn renew(&self, session: &str) -> Result<(), Status> {
        let request = v1::RenewRequest { session_id: session.to_owned(), ..v1::RenewRequest::default() };
        SessionServiceClient::new(self.routes.clone()).renew(request).await.map(drop)
    }

    /// Opens a client's stream.
    pub async fn stream(&self) -> Result<Stream, Status> {
        let (requests, outgoing) = mpsc::channel(8);
        let answers = ClientServiceClient::new(self.routes.clone()).stream(ReceiverStream::new(outgoing)).await?;
        Ok(Stream { requests, answers: answers.into_inner(), count: 0 })
    }

    /// Starts a watch of everything. It makes progress only when the next message is requested.
    pub async fn watch(&self) -> Streaming<WatchResponse> {
        let watch = WatchServiceClient::new(self.routes.clone()).watch(WatchRequest::default()).await;
        watch.expect("begun").into_inner()
    }

    /// Acquires a free lock.
    pub async fn hold(&self, session: &str, name: &str) -> u64 {
        self.acquire(session, name).await.expect("free")
    }
}

fn span(span: Duration) -> prost_types::Duration {
    prost_types::Duration::try_from(span).expect("short")
}

/// The request to open a session.
pub fn open_request(session: &str) -> v1::OpenSessionRequest {
    v1::OpenSessionRequest { session_id: session.to_owned(), ttl: Some(span(TTL)), ..v1::OpenSessionRequest::default() }
}

/// The reason of a rejected call.
pub fn reason<T: std::fmt::Debug>(refused: Result<T, Status>) -> String {
    let status = refused.expect_err("rejected");
    status.get_details_error_info().map_or_else(|| format!("none: {status:?}"), |info| info.reason)
}

/// A client's stream.
pub struct Stream {
    requests: mpsc::Sender<v1::StreamRequest>,
    answers: Streaming<v1::StreamResponse>,
    count: u64,
}

impl Stream {
    /// Sends a command and returns the reply. Notices that precede it are skipped.
    pub async fn ask(&mut self, kind: Commanded) -> Answered {
        self.count += 1;
        let command = v1::Command { id: self.count, kind: Some(kind), ..v1::Command::default() };
        self.requests.send(v1::StreamRequest { commands: vec![command] }).await.expect("open");
        loop {
            let response = within(LEASE, self.answers.message()).await.expect("open").expect("not the end");
            if let Some(answer) = response.answers.into_iter().find(|answer| answer.id == self.count) {
                return answer.kind.expect("a kind");
            }
        }
    }

    /// The reason why a command is rejected.
    pub async fn refusal(&mut self, kind: Commanded) -> String {
        match self.ask(kind).await {
            Answered::Refusal(refusal) => refusal.reason,
            other => format!("none: {other:?}"),
        }
    }

    /// The status with which the stream ends, after all remaining messages.
    pub async fn end(mut self) -> Result<(), Status> {
        while within(LEASE, self.answers.message()).await?.is_some() {}
        Ok(())
    }
}
