//! The gRPC service: converts requests, executes them, and converts the results.

mod acquire;
pub(crate) mod authenticate;
mod authorize;
mod blocked;
mod connect;
pub(crate) mod convert;
pub(crate) mod deadline;
mod framing;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod groups;
mod handoff;
mod history;
mod locks;
mod methods;
mod page_token;
mod pieces;
pub(crate) mod request_body;
mod servers;
mod services;
mod sessions;
pub(crate) mod spans;
mod status;
pub(crate) mod validate;
pub(crate) mod views;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use tenure_core::{Rejection, Text};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use crate::limits;
use crate::node::Node;
use crate::sequencer::Namespace;
use authorize::Principal;
use status::{invalid, rejected};
pub use validate::TtlBounds;

/// Time limit of a call that does not wait for a lock.
const CALL: Duration = Duration::from_secs(10);

/// The state that all services share.
#[derive(Clone)]
pub struct Api(Arc<Shared>);

struct Shared {
    node: ArcSwapOption<Node>,
    ttl: TtlBounds,
    draining: CancellationToken,
    snapshot_permits: watch::SnapshotPermits,
    /// Limits concurrent reads of sessions with many claims.
    session_permits: Semaphore,
}

impl Api {
    /// Services without a node yet: every call is rejected until there is one. `draining` ends their streams.
    #[must_use]
    pub fn new(ttl: TtlBounds, draining: CancellationToken) -> Self {
        Self(Arc::new(Shared {
            node: ArcSwapOption::empty(),
            ttl,
            draining,
            snapshot_permits: watch::SnapshotPermits::default(),
            session_permits: Semaphore::new(limits::SESSION_READS),
        }))
    }

    /// Sets the node that serves calls: the first one, a new one after the previous one was marked dead, or none.
    pub fn serve(&self, node: Option<Arc<Node>>) {
        self.0.node.store(node);
    }

    fn node(&self) -> Result<Arc<Node>, Status> {
        let starting = || rejected(Rejection::Unavailable("this server has not registered yet".to_owned()));
        self.current_node().ok_or_else(starting)
    }

    /// The node, if there is one.
    pub(crate) fn current_node(&self) -> Option<Arc<Node>> {
        self.0.node.load_full()
    }

    fn draining(&self) -> &CancellationToken {
        &self.0.draining
    }

    /// Rejects requests that would bind a client to a draining server: another server takes them, and nothing was
    /// changed here.
    ///
    /// # Errors
    /// If this server is draining.
    fn check_stays(&self) -> Result<(), Status> {
        if self.draining().is_cancelled() { Err(rejected(Rejection::Draining)) } else { Ok(()) }
    }

    /// Opens the namespace of an admitted request.
    async fn namespace(&self, principal: &Principal, name: &str) -> Result<Namespace, Status> {
        let name = validate::namespace(name)?;
        let node = self.node()?;
        let opening = async {
            if principal.may_fill {
                node.namespaces.get_to_fill(name).await
            } else {
                node.namespaces.get(name).await.map_err(Rejection::from)
            }
        };
        let late = |_| Err(Rejection::Unavailable("the namespace could not be read in time".to_owned()));
        tokio::time::timeout(CALL, opening).await.unwrap_or_else(late).map_err(rejected)
    }
}

/// Limits a call to [`CALL`]: no call hangs, a late one fails with a named error.
async fn in_time<T>(call: impl Future<Output = Result<T, Rejection>>) -> Result<T, Status> {
    tokio::time::timeout(CALL, call).await.unwrap_or(Err(Rejection::OutcomeUnknown)).map_err(rejected)
}

/// The id of the session that a request names; a new one if it names none and opens a session.
fn session_or_new(id: &str, opens: bool) -> Result<Text, Status> {
    match id {
        "" if opens => Ok(uuid::Uuid::now_v7().to_string().into()),
        "" => Err(invalid("session_id", "required unless a ttl is set, which opens a new session")),
        id => validate::session_id("session_id", id),
    }
}
