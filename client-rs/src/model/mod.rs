//! The nouns that answers are made of.

mod group;
mod watch;

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use strum::{Display, EnumString, IntoStaticStr};
use tenure_proto::v1;

pub use self::group::{Assignments, Group, GroupEvent, GroupEventKind, GroupLeader, GroupMember};
pub use self::watch::{HistoryGoneCause, WatchEvent};

/// Free labels on a session or a claim. At most 4096 bytes in all, keys and values together.
pub type Metadata = BTreeMap<String, String>;

/// A name that sessions hold or wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// Its name.
    pub name: String,
    /// Who holds it, or lingers on it. Empty: it has no holder.
    pub holders: Vec<Claim>,
    /// Who waits, in the order in which they will be served. At most the first 100.
    pub waiters: Vec<Claim>,
    /// How many wait in all.
    pub waiter_count: u64,
    /// How many hold it in all; `holders` shows at most the first 100.
    pub holder_count: u64,
    /// How many permits may be out at once, if anybody has said.
    pub limit: Option<u32>,
    /// What an operator has set.
    pub settings: LockSettings,
}

/// With whom a claim can share its locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// With no other claim.
    #[default]
    Exclusive,
    /// With other shared claims. One that waits for exclusive use lets no later shared one pass.
    Shared,
    /// With other claims to permits, as long as no more than the limit are out: a semaphore.
    Permits {
        /// How many permits of each lock: 1 to 1,000,000.
        permits: u32,
        /// How many may be out at once. `None` asks for whatever the lock's limit is.
        limit: Option<u32>,
    },
    /// A mode that this version does not know.
    Unknown,
}

/// What an operator sets on a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockSettings {
    /// How many permits may be out at once: 1 to 1,000,000. Claims that say another limit are refused. `None`: what the first
    /// of the claims that are there says.
    pub limit: Option<u32>,
    /// Whether a waiter of higher priority is handed the lock by the holder. `None`: it waits for its turn.
    pub preempt: Option<Preempt>,
}

/// How a better candidate is handed a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preempt {
    /// For how long it must have waited: at most 24 h. Default: 10 s.
    pub settling: Duration,
    /// For how long the holder may go on, to stop its work: 100 ms to 1 h. Default: 10 s.
    pub drain: Duration,
}

impl Default for Preempt {
    fn default() -> Self {
        Self { settling: Duration::from_secs(10), drain: Duration::from_secs(10) }
    }
}

/// A handoff that a holder has been asked for and has not confirmed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingTransfer {
    /// The session that is to hold next. `None`: the first in the queue then.
    pub to: Option<String>,
    /// For how long the holder may go on, counted from when it was asked.
    pub drain: Duration,
}

impl Lock {
    /// The first claim that holds it now. A claim that only lingers is not held by anybody.
    #[must_use]
    pub fn holder(&self) -> Option<&Claim> {
        self.holders.iter().find(|claim| claim.state == ClaimState::Held)
    }
}

/// One session's stake in one or more locks at once.
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
    /// What was attached to the claim.
    pub metadata: Metadata,
    /// Higher goes first among waiters.
    pub priority: i32,
    /// For this long after the grant no claim is granted these locks again. Zero: no minimum.
    pub min_hold: Duration,
    /// With whom the locks can be shared.
    pub mode: Mode,
    /// The handoff that its holder has been asked for.
    pub transfer: Option<PendingTransfer>,
    /// The sessions that wait for each other in a circle, this one first. Empty: none. Known only of waiting claims that were
    /// read, not of those that were watched.
    pub deadlock: Vec<String>,
}

/// A claim that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockedClaim {
    /// The claim; its `deadlock` says whether it is in a deadlock.
    pub claim: Claim,
    /// Those that it waits for: of each of its locks, the waiter just before it, or the holders in its way if it is first.
    pub blocked_by: Vec<Claim>,
    /// Whether it waits for more claims than the server lists.
    pub truncated: bool,
}

/// Another claim holds the locks, or is ahead in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Busy {
    /// Who holds, lingers on, or waits ahead for the first of the names that was not free.
    pub holder: Option<Claim>,
}

/// Where a claim stands.
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
    /// How long it lives without a renewal.
    pub ttl: Duration,
    /// Who it is, for people.
    pub owner: String,
    /// Free labels.
    pub metadata: Metadata,
    /// The server that takes its renewals.
    pub home: u64,
    /// What it holds and waits for, in the order in which it was asked for.
    pub claims: Vec<Claim>,
    /// How long it lives on, at least, if its stream does. Known only if the answering server is its home.
    pub remaining: Option<Duration>,
    /// How long it outlives the stream that it is attached to. None: until its TTL has passed.
    pub disconnect_grace: Option<Duration>,
}

/// Something that happened to one lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The namespace's revision that this event made.
    pub revision: u64,
    /// The lock.
    pub name: String,
    /// What happened.
    pub kind: EventKind,
    /// Whose claim it happened to.
    pub claim: Option<Claim>,
    /// Why the claim ended, if it did.
    pub end_reason: Option<EndReason>,
    /// The operator who ended it, if one did.
    pub operator: Option<String>,
    /// The operator's note.
    pub note: Option<String>,
    /// Whether the lock has no holder any more.
    pub vacant: bool,
    /// The wall clock of the server that wrote it, for people.
    pub time: Option<SystemTime>,
    /// The hold that ended, if it was handed over.
    pub previous: Option<Claim>,
    /// What is set on the lock from now on, if that is what happened.
    pub settings: Option<LockSettings>,
}

/// What can happen to a lock.
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
    /// The holder was asked to hand over. It holds on until it confirms.
    TransferStarted,
    /// The holder did not confirm in time. It holds on.
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
