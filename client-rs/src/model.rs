//! The nouns that answers are made of.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, SystemTime};

use tenure_proto::v1;

/// Free labels on a session or a claim. At most 4096 bytes in all, keys and values together.
pub type Metadata = BTreeMap<String, String>;

/// A name that sessions hold or wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// Its name.
    pub name: String,
    /// Who holds it, or lingers on it. Empty: nobody holds it.
    pub holders: Vec<Claim>,
    /// Who waits, in the order in which they will be served. At most the first 100.
    pub waiters: Vec<Claim>,
    /// How many wait in all.
    pub waiter_count: u64,
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
    /// For this long after the grant nobody is granted these locks again. Zero: no minimum.
    pub min_hold: Duration,
}

/// Where a claim stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClaimState {
    /// In the queue.
    Waiting,
    /// Granted: its session holds the locks.
    Held,
    /// Released before its minimum hold was over: nobody holds the locks, and nobody is granted them yet.
    Lingering,
    /// A state that this version does not know.
    Unknown,
}

impl ClaimState {
    /// The state in one lowercase word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Held => "held",
            Self::Lingering => "lingering",
            Self::Unknown => "unknown",
        }
    }
}

/// Why a claim or a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndReason {
    /// The holder released it, or the waiter gave up.
    Released,
    /// The session's TTL passed without a renewal.
    Expired,
    /// The session's stream broke, or nobody was there to receive a grant.
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
        match self {
            Self::Released => "released",
            Self::Expired => "expired",
            Self::Disconnected => "disconnected",
            Self::Closed => "closed",
            Self::Evicted => "evicted",
            Self::Transferred => "transferred",
            Self::Unknown => "unknown",
        }
    }

    pub(crate) fn parse(word: &str) -> Self {
        match word {
            "released" => Self::Released,
            "expired" => Self::Expired,
            "disconnected" => Self::Disconnected,
            "closed" => Self::Closed,
            "evicted" => Self::Evicted,
            "transferred" => Self::Transferred,
            _ => Self::Unknown,
        }
    }

    pub(crate) fn from_proto(reason: i32) -> Self {
        match v1::EndReason::try_from(reason) {
            Ok(v1::EndReason::Released) => Self::Released,
            Ok(v1::EndReason::Expired) => Self::Expired,
            Ok(v1::EndReason::Disconnected) => Self::Disconnected,
            Ok(v1::EndReason::Closed) => Self::Closed,
            Ok(v1::EndReason::Evicted) => Self::Evicted,
            Ok(v1::EndReason::Transferred) => Self::Transferred,
            Ok(v1::EndReason::Unspecified) | Err(_) => Self::Unknown,
        }
    }
}

impl fmt::Display for EndReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
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
    /// Whether nobody holds the lock after this commit.
    pub vacant: bool,
    /// The wall clock of the server that wrote it, for people.
    pub time: Option<SystemTime>,
}

/// What can happen to a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// A kind that this version does not know.
    Unknown,
}

impl EventKind {
    /// The kind in one lowercase word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Granted => "granted",
            Self::Lingering => "lingering",
            Self::Ended => "ended",
            Self::Unknown => "unknown",
        }
    }
}
