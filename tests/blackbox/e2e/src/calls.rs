//! Plain calls without a client library: the contract as any program sees it.

use std::time::Duration;

use tenure_proto::v1::group_service_client::GroupServiceClient;
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::session_service_client::SessionServiceClient;
use tenure_proto::v1::watch_service_client::WatchServiceClient;
use tenure_proto::v1::{AcquireRequest, AcquireResponse, GetLockRequest, ListLocksRequest, Lock, ReleaseRequest};
use tonic::Status;
use tonic::transport::{Channel, Endpoint};

/// The timeout of a call.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A connection to one server.
#[derive(Clone, Debug)]
pub struct Calls {
    /// Locks.
    pub locks: LockServiceClient<Channel>,
    /// Sessions.
    pub sessions: SessionServiceClient<Channel>,
    /// Groups.
    pub groups: GroupServiceClient<Channel>,
    /// Watches.
    pub watches: WatchServiceClient<Channel>,
    /// The connection itself.
    pub channel: Channel,
}

impl Calls {
    /// Connects.
    ///
    /// # Errors
    /// If the server does not listen.
    pub async fn connect(url: &str) -> anyhow::Result<Self> {
        let channel = Endpoint::from_shared(url.to_owned())?.timeout(TIMEOUT).connect().await?;
        Ok(Self {
            locks: LockServiceClient::new(channel.clone()),
            sessions: SessionServiceClient::new(channel.clone()),
            groups: GroupServiceClient::new(channel.clone()),
            watches: WatchServiceClient::new(channel.clone()),
            channel,
        })
    }

    /// Tries once to acquire a lock, opening or renewing the session with this TTL.
    ///
    /// # Errors
    /// If the server rejects the call.
    pub async fn try_lock(&self, name: &str, session: &str, ttl: Duration) -> Result<AcquireResponse, Status> {
        let wait = Some(prost_types::Duration::default());
        self.acquire(AcquireRequest { wait, ..self.acquire_request(name, session, ttl) }).await
    }

    /// A minimal Acquire, which waits without a limit.
    #[must_use]
    pub fn acquire_request(&self, name: &str, session: &str, ttl: Duration) -> AcquireRequest {
        AcquireRequest {
            names: vec![name.to_owned()],
            session_id: session.to_owned(),
            owner: session.to_owned(),
            ttl: Some(seconds(ttl.as_secs_f64())),
            ..AcquireRequest::default()
        }
    }

    /// Acquire.
    ///
    /// # Errors
    /// If the server rejects the call.
    pub async fn acquire(&self, request: AcquireRequest) -> Result<AcquireResponse, Status> {
        Ok(self.locks.clone().acquire(request).await?.into_inner())
    }

    /// Release. Returns the revision.
    ///
    /// # Errors
    /// If the server rejects the call.
    pub async fn release(&self, name: &str, session: &str, token: u64) -> Result<u64, Status> {
        let request = ReleaseRequest {
            name: name.to_owned(),
            session_id: session.to_owned(),
            token,
            ..ReleaseRequest::default()
        };
        Ok(self.locks.clone().release(request).await?.into_inner().revision)
    }

    /// Reads a lock.
    ///
    /// # Errors
    /// If the server rejects the call.
    pub async fn lock(&self, name: &str) -> Result<Lock, Status> {
        let request = GetLockRequest { name: name.to_owned(), ..GetLockRequest::default() };
        Ok(self.locks.clone().get_lock(request).await?.into_inner().lock.unwrap_or_default())
    }

    /// The revision of the default namespace.
    ///
    /// # Errors
    /// If the server rejects the call.
    pub async fn revision(&self) -> Result<u64, Status> {
        Ok(self.locks.clone().list_locks(ListLocksRequest::default()).await?.into_inner().revision)
    }
}

/// A duration on the wire.
#[must_use]
#[allow(clippy::cast_possible_truncation, reason = "tests use seconds to years")]
pub fn seconds(seconds: f64) -> prost_types::Duration {
    let nanos = (seconds * 1e9).round() as i128;
    prost_types::Duration { seconds: (nanos / 1_000_000_000) as i64, nanos: (nanos % 1_000_000_000) as i32 }
}
