//! The connection to the service, as its handles see it: what they declare, and plain calls beside the stream. The task
//! that owns the stream is in [`transport`](crate::transport).

mod call;
mod table;

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout_at};
use tonic::Status;
use tonic::body::Body;
use tower::util::BoxCloneSyncService;

pub(crate) use self::call::{LARGEST_ANSWER, call_span};
pub(crate) use self::table::Table;
use crate::clock::{self, Moment};
use crate::error::{Error, Result};
use crate::presence::Presence;
use crate::protocol::{End, Protocol, Status as Latest};

/// The channel to a server. Clones share it.
pub type Wire = BoxCloneSyncService<http::Request<Body>, http::Response<Body>, Status>;

/// How long closing the sessions may take after the last handle to the client is dropped.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// A connection. Clones share it; it is closed when the last of them is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Connection(Arc<CloseOnDrop>);

/// Closes the connection when it is dropped.
#[derive(Debug)]
struct CloseOnDrop(Arc<Shared>);

/// What handles and driver share.
#[derive(Debug)]
pub(crate) struct Shared {
    table: Mutex<Table>,
    /// Wakes the driver after a change of the table.
    pub(crate) wake: Notify,
    /// The channel to the server that the stream is connected to, or why there is none. The driver drops the sender at
    /// its end.
    wire: watch::Receiver<Result<Wire>>,
    pub(crate) namespace: String,
    pub(crate) call_timeout: Duration,
    /// Where the background work of handles runs.
    pub(crate) runtime: Handle,
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
        (Self(Arc::new(CloseOnDrop(Arc::clone(&shared)))), shared, sender)
    }

    /// Whether the driver has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.wire.has_changed().is_err()
    }

    /// Closes all sessions and ends all watches; later requests fail.
    pub(crate) async fn shut_down(&self) -> Result<()> {
        self.close(self.call_timeout);
        let mut wire = self.wire.clone();
        while wire.changed().await.is_ok() {}
        if self.table().protocol.sessions().is_empty() { Ok(()) } else { Err(self.unanswered()) }
    }

    /// The channel to the server that the stream is connected to, and a receiver that is notified when that changes.
    /// Waits for one until `deadline`, unless the credentials are refused.
    pub(crate) async fn wire(&self, deadline: Instant) -> Result<(Wire, watch::Receiver<Result<Wire>>)> {
        // Once the driver has ended, `wire` keeps its last value.
        if self.is_closed() {
            return Err(Error::Closed);
        }
        let mut changes = self.wire.clone();
        let is_known = |wire: &Result<Wire>| matches!(wire, Ok(_) | Err(Error::Refused(_)));
        let found = match timeout_at(deadline, changes.wait_for(is_known)).await {
            Ok(Ok(wire)) => wire.clone(),
            Ok(Err(_)) => return Err(Error::Closed),
            Err(_) => self.wire.borrow().clone(),
        };
        found.map(|wire| (wire, changes))
    }

    /// The error of a request without a reply.
    pub(crate) fn unanswered(&self) -> Error {
        let problem = self.wire.borrow().as_ref().err().cloned();
        problem.unwrap_or_else(|| Error::Unavailable("the server did not answer".to_owned()))
    }

    /// Waits for the end of what was withdrawn.
    pub(crate) async fn end(&self, presence: &Presence) -> Result<End> {
        let limit = clock::now().after(self.call_timeout);
        let ended = presence.wait(|now| match presence.status() {
            Latest::Ended(end) => Ok(Ok(end)),
            _ if limit <= now => Ok(Err(self.unanswered())),
            _ => Err(limit),
        });
        ended.await
    }
}

impl Shared {
    /// Changes the table, passes on what that causes, and wakes the driver.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Table, Moment) -> T) -> T {
        let mut table = self.table();
        let now = clock::now();
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
}

impl Deref for Connection {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0.0
    }
}

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.close(CLOSE_TIMEOUT);
    }
}
