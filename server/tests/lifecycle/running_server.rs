//! A server without its transport, and its callers.

use std::sync::Arc;
use std::time::Duration;

use tenure_proto::v1;
use tenure_proto::v1::client_service_client::ClientServiceClient;
use tenure_proto::v1::connect_request::Kind as Sent;
use tenure_proto::v1::connect_response::Kind as Received;
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::session_service_client::SessionServiceClient;
use tenure_proto::v1::state::Kind as State;
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

    /// Connects a client, which declares this session by the number 1.
    pub async fn connect(&self, session: &str) -> Result<Stream, Status> {
        let open = v1::DeclaredSession { session_id: session.to_owned(), ttl: Some(span(TTL)), ..Default::default() };
        let declared = v1::Declaration { session: 1, open: Some(open), ..v1::Declaration::default() };
        self.greet(v1::Hello { epoch: 1, declared: vec![declared], ..hello_of(session) }).await
    }

    /// Connects the client of this session again. Fails if the session is not open any more.
    pub async fn connect_again(&self, session: &str) -> Result<Stream, Status> {
        self.greet(v1::Hello { epoch: 2, known: vec![1], ..hello_of(session) }).await
    }

    async fn greet(&self, hello: v1::Hello) -> Result<Stream, Status> {
        let (requests, outgoing) = mpsc::channel(8);
        let mut client = ClientServiceClient::new(self.routes.clone());
        let responses = client.connect(ReceiverStream::new(outgoing)).await?.into_inner();
        let mut stream = Stream { requests, responses };
        stream.send(Sent::Hello(hello)).await;
        match stream.state(1).await? {
            State::Open(_) => Ok(stream),
            other => Err(Status::aborted(format!("not open: {other:?}"))),
        }
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

fn hello_of(session: &str) -> v1::Hello {
    v1::Hello { client_id: format!("the client of {session}"), ..v1::Hello::default() }
}

/// A client's stream.
pub struct Stream {
    requests: mpsc::Sender<v1::ConnectRequest>,
    responses: Streaming<v1::ConnectResponse>,
}

impl Stream {
    async fn send(&self, kind: Sent) {
        self.requests.send(v1::ConnectRequest { kind: Some(kind) }).await.expect("open");
    }

    /// The next state of this number.
    async fn state(&mut self, number: u64) -> Result<State, Status> {
        loop {
            let response = within(LEASE, self.responses.message()).await?.expect("not the end");
            if let Some(Received::States(states)) = response.kind
                && let Some(state) = states.states.into_iter().find(|state| state.number == number)
            {
                return Ok(state.kind.expect("a state"));
            }
        }
    }

    /// Declares something, and returns the state of this number.
    pub async fn declare(&mut self, declaration: v1::Declaration, number: u64) -> State {
        let kind = Some(v1::change::Kind::Declare(declaration));
        let changes = vec![v1::Change { kind, ..v1::Change::default() }];
        self.send(Sent::Changes(v1::Changes { changes })).await;
        self.state(number).await.expect("open")
    }

    /// Renews the client.
    pub async fn keep_alive(&mut self, number: u64) {
        self.send(Sent::KeepAlive(v1::KeepAlive { number })).await;
        loop {
            let response = within(LEASE, self.responses.message()).await.expect("open").expect("not the end");
            if matches!(response.kind, Some(Received::KeptAlive(_))) {
                return;
            }
        }
    }

    /// The status with which the stream ends, after all remaining messages.
    pub async fn end(mut self) -> Result<(), Status> {
        while within(LEASE, self.responses.message()).await?.is_some() {}
        Ok(())
    }
}
