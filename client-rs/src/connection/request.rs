//! The requests and notes to the connection's task.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::{Connection, HoldHandle, SessionHandle};
use crate::clock::Moment;
use crate::error::{Error, Result};
use crate::model::{Busy, Metadata, Mode, WatchEvent};
use crate::options::{SessionOptions, WatchOptions};
use crate::presence::SessionPresence;
use crate::session_id::SessionId;
use crate::trace::Trace;

/// One acquire of this client and its hold, from the request to the end of the hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ClaimKey(pub(crate) u64);

/// One watch of this client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct WatchKey(pub(crate) u64);

/// How long to wait for locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Try once.
    No,
    /// At most this long.
    AtMost(Duration),
    /// For as long as it takes.
    Forever,
}

/// Which locks to acquire, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AcquireSpec {
    pub(crate) names: Arc<[String]>,
    pub(crate) mode: Mode,
    pub(crate) priority: i32,
    pub(crate) metadata: Metadata,
    pub(crate) min_hold: Duration,
    pub(crate) stall_after: Option<Duration>,
    /// The trace of the acquire, or of the release.
    pub(crate) trace: Trace,
}

impl AcquireSpec {
    /// With the names in byte order.
    pub(crate) fn new(mut names: Vec<String>) -> Self {
        names.sort_unstable();
        Self { names: names.into(), ..Self::default() }
    }

    /// Checks what the local queue relies on; the server checks all bounds.
    pub(crate) fn check(&self) -> Result<()> {
        if self.names.is_empty() {
            return Err(Error::invalid("names", "there are none"));
        }
        if let Some(pair) = self.names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::invalid("names", format!("\"{}\" is there twice", pair[0])));
        }
        if self.stall_after.is_some_and(|within| within.is_zero()) {
            return Err(Error::invalid("stall_after", "it is zero"));
        }
        Ok(())
    }
}

/// The answer to an acquire that did not fail.
#[derive(Debug)]
pub(crate) enum AcquireOutcome {
    /// The locks are held.
    Held(HoldHandle),
    /// The wait is over, and another claim is in the way.
    Busy(Busy),
}

/// A request, with the receiver of its reply. Each gets a reply by its deadline at the latest.
#[derive(Debug)]
pub(crate) enum Request {
    /// Open a session.
    Open {
        id: SessionId,
        options: Box<SessionOptions>,
        connection: Connection,
        trace: Trace,
        deadline: Moment,
        reply: oneshot::Sender<Result<SessionHandle>>,
    },
    /// Close a session. Its presence distinguishes it from a later one of the same id.
    Close { session: SessionId, presence: Arc<SessionPresence>, deadline: Moment, reply: oneshot::Sender<Result<()>> },
    /// Acquire locks. The session is kept alive by this until it is answered.
    Acquire {
        claim: ClaimKey,
        session: Arc<SessionHandle>,
        spec: AcquireSpec,
        wait: Wait,
        asked: Moment,
        reply: oneshot::Sender<Result<AcquireOutcome>>,
    },
    /// Release a hold.
    Release { session: SessionId, claim: ClaimKey, trace: Trace, deadline: Moment, reply: oneshot::Sender<Result<()>> },
    /// Close all sessions, end all watches, and stop.
    ShutDown { deadline: Moment, reply: oneshot::Sender<Result<()>> },
}

/// A notification of the task, without a reply.
#[derive(Debug)]
pub(crate) enum Note {
    /// The last handle to the session was dropped.
    SessionDropped { session: SessionId, presence: Arc<SessionPresence> },
    /// The claim was abandoned, at whatever stage it is.
    ClaimDropped { session: SessionId, claim: ClaimKey },
    /// A watch begins.
    WatchStarted {
        watch: WatchKey,
        options: WatchOptions,
        items: mpsc::Sender<Result<WatchEvent>>,
        paused: Arc<AtomicBool>,
    },
    /// The reader of a watch that was stopped has caught up.
    WatchDrained { watch: WatchKey },
    /// The reader of the watch was dropped.
    WatchDropped { watch: WatchKey },
}
