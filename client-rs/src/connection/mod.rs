//! The connection to the service, as its handles see it: requests to the task that owns the stream, and plain calls
//! beside the stream. The task is in [`transport`](crate::transport).

mod call;
mod handle;
mod request;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot, watch};
use tonic::Status;
use tonic::body::Body;
use tower::util::BoxCloneSyncService;
use tracing::Instrument;

pub(crate) use self::call::{LARGEST_ANSWER, Retry, locks, pages};
pub(crate) use self::handle::{HoldHandle, SessionHandle};
pub(crate) use self::request::{AcquireOutcome, AcquireSpec, ClaimKey, Note, Request, Wait, WatchKey};
use crate::clock::{self, Moment};
use crate::error::{Error, Result};
use crate::options::SessionOptions;
use crate::presence::SessionPresence;
use crate::session_id::SessionId;
use crate::trace::Trace;

/// The channel to a server. Clones share it.
pub type Wire = BoxCloneSyncService<http::Request<Body>, http::Response<Body>, Status>;

/// How many requests may be queued for the connection's task before callers must wait to send theirs.
const REQUESTS_IN_QUEUE: usize = 256;

/// A connection. Clones share it; its task ends when the last of them is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    requests: mpsc::Sender<Request>,
    /// From `drop`, which cannot wait. Unbounded, but with at most two notes from each session, claim or watch that was
    /// accepted through the bounded queue.
    notes: mpsc::UnboundedSender<Note>,
    /// The channel to the server that the stream is connected to, or why there is none.
    wire: watch::Receiver<Result<Wire>>,
    keys: AtomicU64,
    namespace: String,
    call_timeout: Duration,
}

/// What the task receives.
#[derive(Debug)]
pub(crate) struct Inbox {
    pub(crate) requests: mpsc::Receiver<Request>,
    pub(crate) notes: mpsc::UnboundedReceiver<Note>,
    pub(crate) wire: watch::Sender<Result<Wire>>,
}

impl Connection {
    /// A connection, and what its task receives.
    pub(crate) fn new(namespace: String, call_timeout: Duration) -> (Self, Inbox) {
        let (requests, requests_inbox) = mpsc::channel(REQUESTS_IN_QUEUE);
        let (notes, notes_inbox) = mpsc::unbounded_channel();
        let (wire_sender, wire) = watch::channel(Err(Error::Unavailable("not connected yet".to_owned())));
        let shared = Shared { requests, notes, wire, keys: AtomicU64::new(1), namespace, call_timeout };
        let inbox = Inbox { requests: requests_inbox, notes: notes_inbox, wire: wire_sender };
        (Self { shared: Arc::new(shared) }, inbox)
    }

    pub(crate) fn namespace(&self) -> &str {
        &self.shared.namespace
    }

    /// Whether the task has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.shared.requests.is_closed()
    }

    pub(crate) fn call_timeout(&self) -> Duration {
        self.shared.call_timeout
    }

    /// Sends the task a note, without waiting.
    pub(crate) fn note(&self, note: Note) {
        // Without the task there is no stream, and the server ends the session by its TTL.
        let _ = self.shared.notes.send(note);
    }

    pub(crate) async fn open_session(&self, options: SessionOptions) -> Result<SessionHandle> {
        options.check()?;
        let id = options.id.clone().unwrap_or_else(|| uuid::Uuid::now_v7().to_string());
        let span = tracing::info_span!("tenure.open_session", otel.kind = "client", tenure.session.id = id);
        let asking = async {
            let (options, connection, trace) = (Box::new(options), self.clone(), Trace::current());
            self.ask(|deadline, reply| Request::Open { id: id.into(), options, connection, trace, deadline, reply })
                .await
        };
        asking.instrument(span).await
    }

    pub(crate) async fn close_session(&self, session: SessionId, presence: Arc<SessionPresence>) -> Result<()> {
        self.ask(|deadline, reply| Request::Close { session, presence, deadline, reply }).await
    }

    /// Closes all sessions and ends all watches; later requests fail.
    pub(crate) async fn shut_down(&self) -> Result<()> {
        self.ask(|deadline, reply| Request::ShutDown { deadline, reply }).await
    }

    /// Acquires locks in a session of this connection.
    pub(crate) async fn acquire(
        &self,
        session: &Arc<SessionHandle>,
        spec: AcquireSpec,
        wait: Wait,
    ) -> Result<AcquireOutcome> {
        spec.check()?;
        let (reply, answer) = oneshot::channel();
        let claim = ClaimKey(self.key());
        // Made before the request is sent: from then on the task must be notified of a dropped future.
        let mut pending = PendingAcquire { session, claim, answer: Some(answer) };
        let spec = AcquireSpec { trace: Trace::current(), ..spec };
        let (session, asked) = (Arc::clone(session), clock::now());
        let request = Request::Acquire { claim, session, spec, wait, asked, reply };
        self.send(request).await?;
        pending.granted().await
    }

    pub(crate) async fn release(&self, session: SessionId, claim: ClaimKey) -> Result<()> {
        let trace = Trace::current();
        self.ask(|deadline, reply| Request::Release { session, claim, trace, deadline, reply }).await
    }

    /// The channel to the server that the stream is connected to, and a receiver that is notified when that changes.
    /// Waits for one until `deadline`, unless the credentials are refused.
    pub(crate) async fn wire(&self, deadline: tokio::time::Instant) -> Result<(Wire, watch::Receiver<Result<Wire>>)> {
        // Once the task has ended, `wire` keeps its last value.
        if self.is_closed() {
            return Err(Error::Closed);
        }
        let mut changes = self.shared.wire.clone();
        let is_known = |wire: &Result<Wire>| matches!(wire, Ok(_) | Err(Error::Refused(_)));
        let known = async { changes.wait_for(is_known).await.map(|wire| wire.clone()) };
        let found = match tokio::time::timeout_at(deadline, known).await {
            Ok(Ok(wire)) => wire,
            Ok(Err(_)) => return Err(Error::Closed),
            Err(_) => self.shared.wire.borrow().clone(),
        };
        found.map(|wire| (wire, changes))
    }

    /// Sends a request with a deadline, and waits for its reply.
    async fn ask<T>(&self, request: impl FnOnce(Moment, oneshot::Sender<Result<T>>) -> Request) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        self.send(request(clock::now().after(self.shared.call_timeout), reply)).await?;
        answer.await.unwrap_or(Err(Error::Closed))
    }

    async fn send(&self, request: Request) -> Result<()> {
        // The queue nearly always has space, and then a timer would be most of the work.
        let request = match self.shared.requests.try_send(request) {
            Ok(()) => return Ok(()),
            Err(TrySendError::Closed(_)) => return Err(Error::Closed),
            Err(TrySendError::Full(request)) => request,
        };
        match tokio::time::timeout(self.shared.call_timeout, self.shared.requests.send(request)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(Error::Closed),
            Err(_) => Err(Error::Unavailable("too many requests are waiting for the connection".to_owned())),
        }
    }

    /// A key that no other claim or watch of this connection has.
    pub(crate) fn key(&self) -> u64 {
        self.shared.keys.fetch_add(1, Ordering::Relaxed)
    }
}

/// A requested acquire. Dropped before its answer, it is cancelled.
struct PendingAcquire<'a> {
    session: &'a SessionHandle,
    claim: ClaimKey,
    answer: Option<oneshot::Receiver<Result<AcquireOutcome>>>,
}

impl PendingAcquire<'_> {
    async fn granted(&mut self) -> Result<AcquireOutcome> {
        let Some(answer) = &mut self.answer else { return Err(Error::Closed) };
        let outcome = answer.await.unwrap_or(Err(Error::Closed));
        self.answer = None;
        outcome
    }
}

impl Drop for PendingAcquire<'_> {
    fn drop(&mut self) {
        // The receiver goes first: a hold that is granted from now on cannot be delivered, and is dropped by the sender.
        if let Some(answer) = self.answer.take() {
            drop(answer);
            let session = self.session.id.clone();
            self.session.connection.note(Note::ClaimDropped { session, claim: self.claim });
        }
    }
}
