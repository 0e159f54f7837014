//! A session, with its holds and waits.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::session_service_client::SessionServiceClient;
use tenure_proto::v1::{
    AcquireRequest, AcquireResponse, CancelAcquireRequest, CloseSessionRequest, OpenSessionRequest, ReleaseRequest,
    RenewRequest, UpdateClaimRequest,
};
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, spawn_local};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::reply::Failure;
use crate::servers::{CALL_TIMEOUT, Servers, is_final};

/// The number of renewals per TTL: more often than a call that waits for a lock renews the session at its server.
const RENEWALS: u32 = 6;

/// Longer than any wait.
const LONGEST_WAIT: Duration = Duration::from_secs(400 * 24 * 3600);

/// An open session, which is renewed until it is closed.
pub(crate) struct Session {
    servers: Rc<Servers>,
    pub(crate) id: String,
    pub(crate) ttl: Duration,
    /// Sent with each Acquire, which is rejected if the session has ended, even if another of that id is open.
    opened_revision: u64,
    /// The server that receives the renewals: not the one that opened the session, and never one that receives an
    /// Acquire.
    renewed_at: Rc<Cell<usize>>,
    renewing: AbortHandle,
}

/// A hold of a session.
pub(crate) struct Guard {
    pub(crate) session: Rc<Session>,
    /// One of the names: a hold of several names is released as a whole.
    pub(crate) name: String,
    pub(crate) token: u64,
    /// Whether the session ends with the hold.
    pub(crate) owns_session: bool,
}

impl Session {
    /// Opens a session. Without an id it generates one, so that a repeated call does not open a second session.
    pub(crate) async fn open(servers: Rc<Servers>, request: OpenSessionRequest) -> Result<Self, Failure> {
        let session_id = if request.session_id.is_empty() { Uuid::now_v7().to_string() } else { request.session_id };
        let request = OpenSessionRequest { namespace: servers.namespace.clone(), session_id, ..request };
        let opened_at = Cell::new(None);
        let call = async |server, channel| {
            opened_at.set(Some(server));
            SessionServiceClient::new(channel).open_session(request.clone()).await
        };
        let opened = servers.send(None, CALL_TIMEOUT, call).await?.session.unwrap_or_default();
        let ttl = opened.ttl.and_then(|ttl| ttl.try_into().ok()).unwrap_or_default();
        let renewed_at = Rc::new(Cell::new(servers.random(opened_at.get())));
        let renewing = spawn_local(renew(Rc::clone(&servers), opened.id.clone(), ttl, Rc::clone(&renewed_at)));
        let renewing = renewing.abort_handle();
        Ok(Self { servers, id: opened.id, ttl, opened_revision: opened.opened_revision, renewed_at, renewing })
    }

    /// Acquires locks, at any server but the one that renews the session, until they are granted, the wait is over, or
    /// it is cancelled. If a call's server dies, the call is repeated at another server, and then concerns the same
    /// claim.
    pub(crate) async fn acquire(
        &self,
        request: AcquireRequest,
        wait: Option<Duration>,
        cancelled: oneshot::Receiver<()>,
    ) -> Result<AcquireResponse, Failure> {
        let until = wait.map(|wait| Instant::now() + wait);
        let sent_to = Cell::new(None);
        let call = async |server, channel| {
            sent_to.set(Some(server));
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let request = AcquireRequest {
                namespace: self.servers.namespace.clone(),
                session_id: self.id.clone(),
                wait: left.and_then(|left| left.try_into().ok()),
                opened_revision: self.opened_revision,
                ..request.clone()
            };
            LockServiceClient::new(channel).acquire(request).await
        };
        let limit = wait.unwrap_or(LONGEST_WAIT) + CALL_TIMEOUT;
        tokio::select! {
            biased;
            response = self.servers.send(Some(self.renewed_at.get()), limit, call) => response,
            Ok(()) = cancelled => {
                self.cancel(&request.names, sent_to.get()).await?;
                Err(Failure::Cancelled)
            }
        }
    }

    /// Cancels an Acquire, at any server but the one that received it. After that the Acquire has no effect any more.
    async fn cancel(&self, names: &[String], sent_to: Option<usize>) -> Result<(), Failure> {
        let (namespace, session_id) = (self.servers.namespace.clone(), self.id.clone());
        let request = CancelAcquireRequest { namespace, names: names.to_owned(), session_id };
        let call = async |_, channel| LockServiceClient::new(channel).cancel_acquire(request.clone()).await;
        self.servers.send(sent_to, CALL_TIMEOUT, call).await.map(drop)
    }

    /// Releases a hold.
    pub(crate) async fn release(&self, name: &str, token: u64) -> Result<(), Failure> {
        let (namespace, session_id) = (self.servers.namespace.clone(), self.id.clone());
        let request = ReleaseRequest { namespace, name: name.to_owned(), session_id, token };
        let call = async |_, channel| LockServiceClient::new(channel).release(request.clone()).await;
        self.servers.send(None, CALL_TIMEOUT, call).await.map(drop)
    }

    /// Replaces the metadata of a hold.
    pub(crate) async fn update(
        &self,
        name: &str,
        token: u64,
        metadata: BTreeMap<String, String>,
    ) -> Result<(), Failure> {
        let (namespace, session_id) = (self.servers.namespace.clone(), self.id.clone());
        let request = UpdateClaimRequest { namespace, name: name.to_owned(), session_id, token, metadata };
        let call = async |_, channel| LockServiceClient::new(channel).update_claim(request.clone()).await;
        self.servers.send(None, CALL_TIMEOUT, call).await.map(drop)
    }

    /// Closes the session, with all its holds and waits.
    pub(crate) async fn close(&self) -> Result<(), Failure> {
        // Stopped first, so that no other session of this id is renewed.
        self.renewing.abort();
        let (namespace, session_id) = (self.servers.namespace.clone(), self.id.clone());
        let request = CloseSessionRequest { namespace, session_id };
        let call = async |_, channel| SessionServiceClient::new(channel).close_session(request.clone()).await;
        self.servers.send(None, CALL_TIMEOUT, call).await.map(drop)
    }
}

/// Renews a session at one server as long as that replies, then at another: each change costs a commit.
async fn renew(servers: Rc<Servers>, session_id: String, ttl: Duration, at: Rc<Cell<usize>>) {
    let pause = ttl / RENEWALS;
    loop {
        sleep(pause).await;
        let request = RenewRequest { namespace: servers.namespace.clone(), session_id: session_id.clone() };
        let call = async |_, channel| SessionServiceClient::new(channel).renew(request.clone()).await;
        while let Err(status) = servers.send_one(at.get(), pause, &call).await {
            if is_final(&status) {
                // The session has ended.
                return;
            }
            at.set(servers.random(Some(at.get())));
            sleep(pause / RENEWALS).await;
        }
    }
}
