//! Records client operations and observations, timed by one clock.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How a lock is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sharing {
    /// With no other holder.
    Exclusive,
    /// With other shared holders.
    Shared,
    /// With holders of permits under this limit.
    Permits(u32),
}

impl Sharing {
    /// Whether these modes are compatible. Permit counts and limits are not compared.
    #[must_use]
    pub fn is_compatible_with(self, other: Self) -> bool {
        matches!((self, other), (Self::Shared, Self::Shared) | (Self::Permits(_), Self::Permits(_)))
    }
}

/// Outcome of a client operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// The session holds the locks, with this token.
    Acquired(u64),
    /// Another claim holds the lock or precedes this one.
    Busy,
    /// The operation succeeded.
    Done,
    /// It is unknown whether the operation took effect, or will.
    Unknown(String),
}

/// A client operation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Call {
    /// The session.
    pub session: String,
    /// The locks.
    pub names: Vec<String>,
    /// The operation.
    pub kind: CallKind,
    /// When the request was sent.
    pub start: Duration,
    /// When the reply was received.
    pub end: Duration,
    /// The outcome.
    pub outcome: Outcome,
}

/// Kind of a client operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallKind {
    /// Acquires the locks.
    Acquire(Sharing),
    /// Acquires one lock exclusively, in a plain call of a session whose calls are sequential.
    PlainAcquire,
    /// Cancels such a call.
    Cancel,
    /// Releases the hold with this token.
    Release(u64),
    /// Transfers the hold with this token to the first waiter.
    Transfer(u64),
}

impl CallKind {
    /// The requested mode, if this is an acquire.
    #[must_use]
    pub fn sharing(self) -> Option<Sharing> {
        match self {
            Self::Acquire(sharing) => Some(sharing),
            Self::PlainAcquire => Some(Sharing::Exclusive),
            Self::Cancel | Self::Release(_) | Self::Transfer(_) => None,
        }
    }
}

/// An acknowledged renewal of a session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Renewal {
    /// The session.
    pub session: String,
    /// When the request was sent.
    pub start: Duration,
    /// The acknowledged TTL, counted from the request.
    pub ttl: Duration,
}

/// A client library's report that a hold is valid, or that its member leads a group (the group then counts as the
/// lock).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ValidHold {
    /// Lower bound of the time of the report.
    pub at: Duration,
    /// The locks.
    pub names: Vec<String>,
    /// The token.
    pub token: u64,
    /// How the locks are shared.
    pub sharing: Sharing,
}

/// How long an [`Acquire`](CallKind::Acquire) may wait for its locks: until then its claim stays in the queue, unless it
/// is granted, and then it leaves the queue.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Wait {
    /// The session.
    pub session: String,
    /// When the request was sent, as in its [`Call`].
    pub start: Duration,
    /// When the wait is over.
    pub until: Duration,
}

/// A client library's report until when a session is valid, unless it is renewed again. Only the client ends it earlier.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ValidSession {
    /// The session.
    pub session: String,
    /// Lower bound of the time until which it is valid.
    pub until: Duration,
}

/// A client library's report that a session is lost.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LostSession {
    /// The session.
    pub session: String,
    /// Upper bound of the time of the loss.
    pub at: Duration,
}

/// A session whose client has disconnected while it waited. By now its server has ended the wait.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LeftSession {
    /// The session.
    pub session: String,
}

/// An assignment that a group member received.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The member's number.
    pub member: u64,
    /// The revision of the assignments.
    pub revision: u64,
    /// The assignment.
    pub assignment: String,
}

/// An item delivered by a watch of everything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WatchItem {
    /// The state at a revision.
    Snapshot {
        /// Everything up to this revision has been delivered.
        revision: u64,
        /// Lock and token of each hold.
        holders: Vec<(String, u64)>,
    },
    /// The events of one commit, and the revision up to which delivery is complete.
    Events {
        /// Revision, lock and kind of each event.
        events: Vec<(u64, String, Cow<'static, str>)>,
        /// Everything up to this revision has been delivered.
        revision: u64,
    },
    /// No events up to this revision.
    Progress(u64),
    /// The following events are no longer available; a snapshot follows.
    Gone,
}

/// A client operation or observation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Entry {
    /// A client operation, with its outcome.
    Call(Call),
    /// The wait time of an operation, for clients whose calls in one session are sequential and do not outlive their
    /// replies. Such a client has recorded all its calls in the session.
    Wait(Wait),
    /// A server replied that it could not open this session and that nothing was changed.
    Rejected(String),
    /// A renewal was acknowledged.
    Renewal(Renewal),
    /// A hold was valid.
    ValidHold(ValidHold),
    /// A session is valid for a while.
    ValidSession(ValidSession),
    /// A session is lost.
    LostSession(LostSession),
    /// A client has left a session in which it waited.
    LeftSession(LeftSession),
    /// A member received an assignment.
    Task(Task),
    /// A watch delivered an item.
    Watched {
        /// The watch.
        watch: String,
        /// Upper bound of the delivery time.
        at: Duration,
        /// The item.
        item: WatchItem,
    },
}

/// All client operations and observations of a run.
#[derive(Debug, Default)]
pub struct History {
    /// Operations, in the order of their replies.
    pub calls: Vec<Call>,
    /// Wait times of operations.
    pub waits: Vec<Wait>,
    /// Sessions that a server could not open, with a reply that nothing was changed.
    pub rejected: Vec<String>,
    /// Acknowledged renewals.
    pub renewals: Vec<Renewal>,
    /// Reports of valid holds.
    pub valid_holds: Vec<ValidHold>,
    /// Until when each session is valid, according to its client.
    pub valid_sessions: BTreeMap<String, Duration>,
    /// Sessions that were lost, according to their clients.
    pub lost_sessions: Vec<LostSession>,
    /// Sessions that were left by clients that waited in them.
    pub left_sessions: Vec<LeftSession>,
    /// Assignments that group members received.
    pub tasks: Vec<Task>,
    /// Items delivered by each watch.
    pub watches: BTreeMap<String, Vec<WatchItem>>,
}

impl History {
    /// Appends an entry. For a watch, the order counts.
    pub fn add(&mut self, entry: Entry) {
        match entry {
            Entry::Call(call) => self.calls.push(call),
            Entry::Wait(wait) => self.waits.push(wait),
            Entry::Rejected(session) => self.rejected.push(session),
            Entry::Renewal(renewal) => self.renewals.push(renewal),
            Entry::ValidHold(hold) => self.valid_holds.push(hold),
            Entry::ValidSession(ValidSession { session, until }) => {
                let last = self.valid_sessions.entry(session).or_default();
                *last = until.max(*last);
            }
            Entry::LostSession(lost) => self.lost_sessions.push(lost),
            Entry::LeftSession(left) => self.left_sessions.push(left),
            Entry::Task(task) => self.tasks.push(task),
            Entry::Watched { watch, item, .. } => self.watches.entry(watch).or_default().push(item),
        }
    }

    /// The acquires that were granted, with their tokens.
    pub fn acquired(&self) -> impl Iterator<Item = (&Call, u64)> {
        self.calls.iter().filter_map(|call| match call.outcome {
            Outcome::Acquired(token) => Some((call, token)),
            _ => None,
        })
    }
}
