//! Servers on one database in memory, and callers with a connection each, over gRPC.

use std::time::{Duration, Instant};

use tenure_core::Revision;
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::session_service_client::SessionServiceClient;
use tenure_proto::v1::{
    AcquireRequest, AcquireResponse, GetLockRequest, GetSessionRequest, Lock, ReleaseRequest, RenewRequest, Session,
};
use tenure_server::node::NodeOptions;
use tenure_server::server::{Server, ServerOptions};
use tenure_server::store::MemoryDatabase;
use tonic::transport::{Channel, Endpoint};
use tonic::{IntoRequest, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::lab;
use crate::serving::{self, TIMEOUT, within};

/// How long these servers keep an unattended claim: long enough for a retry on a busy machine.
pub const REATTACH: Duration = Duration::from_secs(1);

/// A bounded wait, long enough to be seen before its end on a busy machine.
pub const WAIT: Duration = Duration::from_secs(1);

pub struct Cluster {
    pub database: MemoryDatabase,
    servers: Vec<Server>,
}

impl Cluster {
    pub async fn start(count: usize) -> Self {
        Self::start_advertising(count, |_, _| "127.0.0.1:0".to_owned()).await
    }

    /// Starts `count` servers, each advertising the address that `address` returns for its number and the servers
    /// before it.
    pub async fn start_advertising(count: usize, address: impl Fn(usize, &[Server]) -> String) -> Self {
        let database = MemoryDatabase::new();
        let mut servers = Vec::new();
        for number in 0..count {
            let (label, address) = (format!("server-{number}"), address(number, &servers));
            let node = NodeOptions { label, address, reattach: REATTACH, ..lab::options() };
            let options = ServerOptions { node, ..serving::options() };
            let server = serving::start_on(options, database.server()).await.expect("started");
            servers.push(server);
        }
        Self { database, servers }
    }

    /// Returns a caller with its own connection to a server.
    pub async fn caller(&self, number: usize) -> Caller {
        Caller { channel: self.endpoint(number).connect().await.expect("connected") }
    }

    /// The URL at which a server listens.
    pub fn url(&self, number: usize) -> String {
        format!("http://{}", self.servers[number].grpc_address)
    }

    fn endpoint(&self, number: usize) -> Endpoint {
        Channel::from_shared(self.url(number)).expect("a URL")
    }

    /// The tokens that were ever granted to a session.
    pub fn grants(&self, session: &str) -> Vec<Revision> {
        lab::grants(&self.database, session)
    }
}

#[derive(Clone)]
pub struct Caller {
    pub channel: Channel,
}

impl Caller {
    pub fn locks(&self) -> LockServiceClient<Channel> {
        LockServiceClient::new(self.channel.clone())
    }

    pub fn sessions(&self) -> SessionServiceClient<Channel> {
        SessionServiceClient::new(self.channel.clone())
    }

    pub async fn acquire(&self, request: impl IntoRequest<AcquireRequest>) -> Result<AcquireResponse, Status> {
        let request = request.into_request();
        Ok(within(self.locks().acquire(request)).await?.into_inner())
    }

    /// Acquires a free lock; returns the token.
    pub async fn hold(&self, session: &str, name: &str) -> u64 {
        let answer = self.acquire(acquire_request(session, name, Some(Duration::ZERO))).await.expect("answered");
        assert!(answer.acquired, "{answer:?}");
        answer.token
    }

    pub async fn release(&self, session: &str, name: &str, token: u64) -> Result<(), Status> {
        let (name, session_id) = (name.to_owned(), session.to_owned());
        let request = ReleaseRequest { name, session_id, token, ..ReleaseRequest::default() };
        within(self.locks().release(request)).await.map(drop)
    }

    /// Renews a session. Returns the tokens of what it holds.
    pub async fn renew(&self, session: &str) -> Result<Vec<u64>, Status> {
        let request = RenewRequest { session_id: session.to_owned(), ..RenewRequest::default() };
        Ok(within(self.sessions().renew(request)).await?.into_inner().tokens)
    }

    pub async fn lock(&self, name: &str) -> Lock {
        let request = GetLockRequest { name: name.to_owned(), ..GetLockRequest::default() };
        within(self.locks().get_lock(request)).await.expect("read").into_inner().lock.expect("a lock")
    }

    /// The revision at which a lock is read.
    pub async fn lock_revision(&self, name: &str) -> u64 {
        let request = GetLockRequest { name: name.to_owned(), ..GetLockRequest::default() };
        within(self.locks().get_lock(request)).await.expect("read").into_inner().revision
    }

    pub async fn session(&self, session: &str) -> Result<Session, Status> {
        let request = GetSessionRequest { session_id: session.to_owned(), ..GetSessionRequest::default() };
        Ok(within(self.sessions().get_session(request)).await?.into_inner().session.expect("a session"))
    }

    /// The holder of the lock, with its token.
    pub async fn holder(&self, name: &str) -> Option<(String, u64)> {
        self.lock(name).await.holders.first().map(|holder| (holder.session_id.clone(), holder.token))
    }

    /// Waits until `count` claims wait for the lock.
    pub async fn wait_for_waiters(&self, name: &str, count: u64) {
        until("all wait", async || self.lock(name).await.waiter_count == count).await;
    }

    /// Waits until the server has processed everything sent on this connection, including the cancellation of calls.
    pub async fn flush(&self) {
        for _ in 0..3 {
            let mut health = HealthClient::new(self.channel.clone());
            within(health.check(HealthCheckRequest::default())).await.expect("served");
        }
    }
}

/// An acquire in a session with a long TTL.
pub fn acquire_request(session: &str, name: &str, wait: Option<Duration>) -> AcquireRequest {
    let span = |span: Duration| prost_types::Duration::try_from(span).expect("short");
    AcquireRequest {
        names: vec![name.to_owned()],
        session_id: session.to_owned(),
        ttl: Some(span(Duration::from_secs(600))),
        wait: wait.map(span),
        ..AcquireRequest::default()
    }
}

/// Waits until a condition holds.
pub async fn until(what: &str, condition: impl AsyncFn() -> bool) {
    let start = Instant::now();
    while !condition().await {
        assert!(start.elapsed() < TIMEOUT, "not in time: {what}");
        tokio::task::yield_now().await;
    }
}

/// Asserts that a condition still holds after the time for which an unattended claim is kept.
pub async fn assert_stays(what: &str, condition: impl AsyncFn() -> bool) {
    let start = Instant::now();
    while start.elapsed() < REATTACH * 3 / 2 {
        assert!(condition().await, "no longer true: {what}");
        tokio::time::sleep(REATTACH / 20).await;
    }
}
