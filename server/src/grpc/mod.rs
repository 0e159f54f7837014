//! The gRPC service: converts requests, executes them, and converts the results. Plain calls and the clients' stream
//! share every operation.

mod acquire;
pub(crate) mod authenticate;
mod authorize;
mod blocked;
pub(crate) mod convert;
pub(crate) mod deadline;
mod framing;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod groups;
mod handoff;
mod history;
mod keep_alive;
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
mod stream;
pub(crate) mod validate;
pub(crate) mod views;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use tenure_core::{Attached, StreamId, Text};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::auth::Refusals;
use crate::auth::{Caller, Identity, Unidentified, Verb};
use crate::limits;
use crate::node::Node;
use crate::sequencer::{Namespace, Refusal};
use authorize::Principal;
pub(crate) use methods::{Method, method};
use status::Problem;
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

/// How a request arrived.
#[derive(Clone, Copy, Debug)]
enum Via {
    /// As a plain call.
    Call,
    /// On a client's stream.
    Stream(StreamId),
}

impl Via {
    /// The known state of a session, if it is attached to the stream that carried the request.
    fn attached(self, namespace: &Namespace, session: &str) -> Option<Attached> {
        match self {
            Self::Call => None,
            Self::Stream(stream) => namespace.attached_by(session, stream),
        }
    }
}

impl Api {
    /// Services without a node yet: every call is rejected until there is one. `draining` ends their streams.
    #[must_use]
    pub fn new(ttl: TtlBounds, draining: CancellationToken) -> Self {
        let (snapshot_permits, session_permits) =
            (watch::SnapshotPermits::default(), Semaphore::new(limits::SESSION_READS));
        Self(Arc::new(Shared { node: ArcSwapOption::empty(), ttl, draining, snapshot_permits, session_permits }))
    }

    /// Sets the node that serves calls: the first one, a new one after the previous one was marked dead, or none.
    pub fn serve(&self, node: Option<Arc<Node>>) {
        self.0.node.store(node);
    }

    fn node(&self) -> Result<Arc<Node>, Problem> {
        let starting = || Problem::Refused(Refusal::Unavailable("this server has not registered yet".to_owned()));
        self.0.node.load_full().ok_or_else(starting)
    }

    /// The node, if there is one.
    pub(crate) fn current_node(&self) -> Option<Arc<Node>> {
        self.0.node.load_full()
    }

    fn ttl(&self) -> TtlBounds {
        self.0.ttl
    }

    fn draining(&self) -> &CancellationToken {
        &self.0.draining
    }

    /// Rejects requests that would bind a client to a draining server: another server takes them, and nothing was
    /// changed here.
    ///
    /// # Errors
    /// If this server is draining.
    fn check_stays(&self) -> Result<(), Problem> {
        if self.draining().is_cancelled() { Err(Problem::Refused(Refusal::Draining)) } else { Ok(()) }
    }

    fn snapshot_permits(&self) -> &watch::SnapshotPermits {
        &self.0.snapshot_permits
    }

    /// Opens the namespace of an admitted request.
    async fn namespace(&self, principal: &Principal, name: &str) -> Result<Namespace, Problem> {
        let name = validate::namespace(name)?;
        let node = self.node()?;
        let unavailable = |why: String| Problem::Refused(Refusal::Unavailable(why));
        let late = |_| unavailable("the namespace could not be read in time".to_owned());
        let opening = async {
            if principal.may_fill() {
                node.namespaces.get_to_fill(name).await.map_err(Problem::from)
            } else {
                node.namespaces.get(name).await.map_err(|error| unavailable(error.to_string()))
            }
        };
        tokio::time::timeout(CALL, opening).await.map_err(late)?
    }
}

/// The status of a call by an unidentified caller.
pub(crate) fn unidentified(why: Unidentified, refusals: &Refusals) -> tonic::Status {
    let problem = Problem::Unidentified(why);
    problem.count(refusals);
    problem.into()
}

/// The status of a call by a caller without any right.
pub(crate) fn forbidden_entirely(caller: &Caller) -> tonic::Status {
    let identity = caller.identity.as_ref().map_or_else(|| "".into(), Identity::text);
    let problem = Problem::NotAllowed { identity, verb: Verb::Read, name: String::new(), namespace: String::new() };
    problem.count(caller.refusals());
    problem.into()
}

/// The status of a call whose own deadline has passed.
pub(crate) fn overdue(refusals: &Refusals) -> tonic::Status {
    let what = "the call's deadline passed before its response: it may have taken effect";
    let problem = Problem::Overdue(what.to_owned());
    problem.count(refusals);
    problem.into()
}

/// The status of a call with an invalid header.
pub(crate) fn invalid_header(header: &str, bound: &str) -> tonic::Status {
    Problem::field(header, bound).into()
}

/// The status of a message that is too large.
pub(crate) fn large_message(bytes: usize, largest: usize) -> tonic::Status {
    Problem::field("message", format!("at most {largest} bytes, not {bytes}")).into()
}

/// The status of a message that exceeds a memory limit.
pub(crate) fn no_room(limit: &'static str, bound: usize) -> tonic::Status {
    Problem::LimitReached { limit, bound: bound.to_string() }.into()
}

/// The status of a call whose message did not arrive in time.
pub(crate) fn late_message(limit: Duration) -> tonic::Status {
    Problem::Overdue(format!("request message not received within {limit:?}: nothing was changed")).into()
}

/// Limits a call to [`CALL`]: no call hangs, a late one fails with a named error.
async fn in_time<T>(call: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
    tokio::time::timeout(CALL, call).await.unwrap_or(Err(Problem::Refused(Refusal::OutcomeUnknown)))
}

fn fresh_session_id() -> Text {
    uuid::Uuid::now_v7().to_string().into()
}
