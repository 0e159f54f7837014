//! The data types of answers.

mod group;
mod watch;

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use strum::{Display, EnumString, IntoStaticStr};
use tenure_proto::v1;

pub use self::group::{Assignments, Group, GroupEvent, GroupEventKind, GroupLeader, GroupMember};
pub use self::watch::{HistoryGoneCause, WatchEvent};
pub use tenure_proto::v1::{HistoryEntry, HoldRecord, history_entry};

/// Free labels on a session or a claim. At most 4096 bytes in all, keys and values together.
pub type Metadata = BTreeMap<String, String>;

/// A name that sessions hold or wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// Its name.
    pub name: String,
    /// The claims that hold it, or linger on it. Empty: it has no holder.
    pub holders: Vec<Claim>,
    /// The waiting claims, in the order in which they will be served. At most the first 100.
    pub waiters: Vec<Claim>,
    /// The number of waiting claims.
    pub waiter_count: u64,
    /// The number of holders; `holders` has at most the first 100.
    pub holder_count: u64,
    /// The limit of granted permits, if one is set.
    pub limit: Option<u32>,
    /// The settings by an operator.
    pub settings: LockSettings,
}

/// How a claim can share its locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// With no other claim.
    #[default]
    Exclusive,
    /// With other shared claims. Later shared claims wait behind a waiting exclusive one.
    Shared,
    /// With other claims to permits, up to the limit: a semaphore.
    Permits {
        /// The number of permits of each lock: 1 to 1,000,000.
        permits: u32,
        /// The limit of granted permits. `None`: the lock's limit.
        limit: Option<u32>,
    },
    /// A mode that this version does not know.
    Unknown,
}

/// The settings of a lock by an operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockSettings {
    /// The limit of granted permits: 1 to 1,000,000. Claims with another limit are refused. `None`: the limit of the
    /// first existing claim.
    pub limit: Option<u32>,
    /// Whether a waiter of higher priority is handed the lock by the holder. `None`: it waits for its turn.
    pub preempt: Option<Preempt>,
}

/// How a better candidate is handed a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preempt {
    /// How long it must have waited: at most 24 h. Default: 10 s.
    pub settling: Duration,
    /// How long the holder may continue, to stop its work: 100 ms to 1 h. Default: 10 s.
    pub drain: Duration,
}

impl Default for Preempt {
    fn default() -> Self {
        Self { settling: Duration::from_secs(10), drain: Duration::from_secs(10) }
    }
}

/// A handoff that a holder was asked for and has not confirmed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingTransfer {
    /// The session that is to hold next. `None`: the first in the queue then.
    pub to: Option<String>,
    /// How long the holder may continue, counted from the request.
    pub drain: Duration,
}

impl Lock {
    /// The first claim that holds it. A claim that only lingers is not a holder.
    #[must_use]
    pub fn holder(&self) -> Option<&Claim> {
        self.holders.iter().find(|claim| claim.state == ClaimState::Held)
    }
}

/// A session's claim to one or more locks at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The revision of the event that created it. 0 if it is not known here.
    pub id: u64,
    /// The locks that are claimed, in byte order.
    pub names: Vec<String>,
    /// Whether it waits or is held.
    pub state: ClaimState,
    /// The fencing token, once granted.
    pub token: Option<u64>,
    /// The session whose claim it is.
    pub session_id: String,
    /// That session's owner label.
    pub owner: String,
    /// The labels of the claim.
    pub metadata: Metadata,
    /// The priority among waiters, higher first.
    pub priority: i32,
    /// For this long after the grant, no claim is granted these locks again. Zero: no minimum.
    pub min_hold: Duration,
    /// How the locks can be shared.
    pub mode: Mode,
    /// The handoff that its holder was asked for.
    pub transfer: Option<PendingTransfer>,
    /// The sessions that wait for each other in a cycle, this one first. Empty: no deadlock. Known only for waiting
    /// claims that were read, not for those from a watch.
    pub deadlock: Vec<String>,
}

/// A claim that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockedClaim {
    /// The claim; its `deadlock` is not empty if it is in a deadlock.
    pub claim: Claim,
    /// The claims that it waits for: for each of its locks, the waiter directly ahead of it, or, if it is first, the
    /// holders that block it.
    pub blocked_by: Vec<Claim>,
    /// Whether it waits for more claims than the server lists.
    pub truncated: bool,
}

/// Another claim holds the locks, or is ahead in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Busy {
    /// The claim that holds, lingers on, or waits ahead for the first of the names that was not free.
    pub holder: Option<Claim>,
}

/// The state of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum ClaimState {
    /// In the queue.
    Waiting,
    /// Granted: its session holds the locks.
    Held,
    /// Released before its minimum hold was over: the locks have no holder, and no claim is granted them yet.
    Lingering,
    /// A state that this version does not know.
    Unknown,
}

/// Why a claim or a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum EndReason {
    /// The holder released it, or the waiter cancelled.
    Released,
    /// The session's TTL passed without a renewal.
    Expired,
    /// The session's stream broke, or there was no client to receive a grant.
    Disconnected,
    /// The client closed the session.
    Closed,
    /// An operator ended it.
    Evicted,
    /// It was handed to another waiter as planned.
    Transferred,
    /// A reason that this version does not know.
    Unknown,
}

impl EndReason {
    /// The reason in one lowercase word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    pub(crate) fn parse(word: &str) -> Self {
        word.parse().unwrap_or(Self::Unknown)
    }

    pub(crate) fn from_proto(reason: i32) -> Self {
        v1::EndReason::try_from(reason).unwrap_or_default().into()
    }
}

/// An open session, as the server sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionInfo {
    /// Its id.
    pub id: String,
    /// The revision of the event that opened it.
    pub opened_revision: u64,
    /// Its lifetime without a renewal.
    pub ttl: Duration,
    /// The owner label, for people.
    pub owner: String,
    /// Free labels.
    pub metadata: Metadata,
    /// The server that receives its renewals.
    pub home: u64,
    /// Its holds and waits, in the order of their requests.
    pub claims: Vec<Claim>,
    /// Its minimum remaining lifetime, if its stream does not break. Known only if the answering server is its home.
    pub remaining: Option<Duration>,
    /// How long it outlives its stream. `None`: until its TTL has passed.
    pub disconnect_grace: Option<Duration>,
}

/// An event of one lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The event's revision in the namespace.
    pub revision: u64,
    /// The lock.
    pub name: String,
    /// What happened.
    pub kind: EventKind,
    /// The claim of the event.
    pub claim: Option<Claim>,
    /// Why the claim ended, if it did.
    pub end_reason: Option<EndReason>,
    /// The operator who ended it, if one did.
    pub operator: Option<String>,
    /// The operator's note.
    pub note: Option<String>,
    /// Whether the lock has no holder after the event.
    pub vacant: bool,
    /// The time by the wall clock of the server that wrote the event, for people.
    pub time: Option<SystemTime>,
    /// The hold that ended, if it was handed over.
    pub previous: Option<Claim>,
    /// The new settings of the lock, if they changed.
    pub settings: Option<LockSettings>,
}

/// A kind of event of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// A claim joined the queue.
    Queued,
    /// A claim was granted: its session holds the lock.
    Granted,
    /// A hold was released before its minimum hold was over.
    Lingering,
    /// A claim ended: the hold is over, or the waiter left.
    Ended,
    /// The holder was asked to hand over. It keeps the lock until it confirms.
    TransferStarted,
    /// The holder did not confirm in time. It keeps the lock.
    TransferCancelled,
    /// The hold was handed over in one step: `previous` ended and `claim` was granted.
    Transferred,
    /// The labels of a hold were replaced.
    Updated,
    /// An operator set something on the lock.
    Configured,
    /// A kind that this version does not know.
    Unknown,
}

impl EventKind {
    /// The kind in lowercase.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
