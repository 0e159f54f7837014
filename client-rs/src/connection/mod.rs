//! The connection to the service, as its handles see it: what they declare, and plain calls beside the stream. The task
//! that owns the stream is in [`transport`](crate::transport).

mod acquire;
mod call;
mod handle;
mod table;

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tonic::Status;
use tonic::body::Body;
use tower::util::BoxCloneSyncService;

pub(crate) use self::acquire::{AcquireOutcome, AcquireSpec, Target, Wait};
pub(crate) use self::call::{LARGEST_ANSWER, Retry, call, groups, locks, pages, sessions};
pub(crate) use self::handle::{HoldHandle, PartHandle, SessionHandle};
pub(crate) use self::table::Table;
use crate::clock::{self, Moment};
use crate::error::{Error, Result};
use crate::latest::Latest;
use crate::protocol::{End, Protocol};

/// The channel to a server. Clones share it.
pub type Wire = BoxCloneSyncService<http::Request<Body>, http::Response<Body>, Status>;

/// How long closing the sessions may take after the last handle to the client is dropped.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// A connection. Clones share it; it is closed when the last of them is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    handle: Arc<CloseOnDrop>,
}

/// Closes the connection when it is dropped.
#[derive(Debug)]
struct CloseOnDrop(Arc<Shared>);

/// What handles and driver share.
#[derive(Debug)]
pub(crate) struct Shared {
    table: Mutex<Table>,
    /// Wakes the driver after a change of the table.
    wake: Notify,
    /// The channel to the server that the stream is connected to, or why there is none. The driver drops the sender at
    /// its end.
    wire: watch::Receiver<Result<Wire>>,
    namespace: String,
    call_timeout: Duration,
    runtime: Handle,
}

impl Connection {
    /// A connection, and what its driver needs.
    pub(crate) fn new(
        namespace: String,
        client_id: String,
        call_timeout: Duration,
        runtime: Handle,
    ) -> (Self, Arc<Shared>, watch::Sender<Result<Wire>>) {
        let (sender, wire) = watch::channel(Err(Error::Unavailable("not connected yet".to_owned())));
        let table = Mutex::new(Table::new(Protocol::new(namespace.clone(), client_id)));
        let shared = Arc::new(Shared { table, wake: Notify::new(), wire, namespace, call_timeout, runtime });
        (Self { handle: Arc::new(CloseOnDrop(Arc::clone(&shared))) }, shared, sender)
    }

    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Whether the driver has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.wire.has_changed().is_err()
    }

    pub(crate) fn call_timeout(&self) -> Duration {
        self.call_timeout
    }

    /// Where the background work of handles runs.
    pub(crate) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Closes all sessions and ends all watches; later requests fail.
    pub(crate) async fn shut_down(&self) -> Result<()> {
        self.close(self.call_timeout);
        let mut wire = self.wire.clone();
        while wire.changed().await.is_ok() {}
        if self.table().protocol.is_empty() { Ok(()) } else { Err(self.unanswered()) }
    }

    /// The channel to the server that the stream is connected to, and a receiver that is notified when that changes.
    /// Waits for one until `deadline`, unless the credentials are refused.
    pub(crate) async fn wire(&self, deadline: tokio::time::Instant) -> Result<(Wire, watch::Receiver<Result<Wire>>)> {
        // Once the driver has ended, `wire` keeps its last value.
        if self.is_closed() {
            return Err(Error::Closed);
        }
        let mut changes = self.wire.clone();
        let is_known = |wire: &Result<Wire>| matches!(wire, Ok(_) | Err(Error::Refused(_)));
        let known = async { changes.wait_for(is_known).await.map(|wire| wire.clone()) };
        let found = match tokio::time::timeout_at(deadline, known).await {
            Ok(Ok(wire)) => wire,
            Ok(Err(_)) => return Err(Error::Closed),
            Err(_) => self.wire.borrow().clone(),
        };
        found.map(|wire| (wire, changes))
    }

    /// The error of a request without a reply.
    fn unanswered(&self) -> Error {
        let problem = self.wire.borrow().as_ref().err().cloned();
        problem.unwrap_or_else(|| Error::Unavailable("the server did not answer".to_owned()))
    }

    /// Waits for the end of what was withdrawn.
    async fn end(&self, mut latest: watch::Receiver<Latest>) -> Result<End> {
        let ended = latest.wait_for(|latest| matches!(latest, Latest::Ended(_)));
        match tokio::time::timeout(self.call_timeout, ended).await {
            Ok(Ok(latest)) => match &*latest {
                Latest::Ended(end) => Ok(end.clone()),
                _ => Err(Error::Closed),
            },
            Ok(Err(_)) => Err(Error::Closed),
            Err(_) => Err(self.unanswered()),
        }
    }
}

impl Shared {
    /// Changes the table, passes on what that causes, and wakes the driver.
    fn change<T>(&self, change: impl FnOnce(&mut Table, Moment) -> T) -> T {
        let now = clock::now();
        let mut table = self.table();
        let changed = change(&mut table, now);
        table.dispatch(now);
        drop(table);
        self.wake.notify_one();
        changed
    }

    fn close(&self, timeout: Duration) {
        self.change(|table, now| table.close(now.after(timeout), now));
    }

    pub(crate) fn table(&self) -> MutexGuard<'_, Table> {
        // Nothing under this lock panics; a poisoned lock would still hold a usable value.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when the table was changed by a handle.
    pub(crate) async fn changed(&self) {
        self.wake.notified().await;
    }
}

impl Deref for Connection {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.handle.0
    }
}

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.close(CLOSE_TIMEOUT);
    }
}
