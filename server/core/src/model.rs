//! The data model of a namespace: sessions, locks, claims.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ascending::Entry;
use crate::encoding::{Millis, is_default, millis, optional_millis};
use crate::few::Few;
use crate::names::{Names, Text};

/// Labels that a client attached to a session or claim.
pub type Metadata = Arc<BTreeMap<String, String>>;

/// Empty metadata, shared by the many sessions and claims without labels.
#[must_use]
pub fn no_labels() -> Metadata {
    static NONE: LazyLock<Metadata> = LazyLock::new(Metadata::default);
    NONE.clone()
}

/// The size of labels in bytes, keys and values together.
#[must_use]
pub fn metadata_bytes(metadata: &Metadata) -> usize {
    metadata.iter().map(|(key, value)| key.len() + value.len()).sum()
}

/// The maximum size of one session's claims in a message, in bytes: the reply to OpenSession contains all of them.
/// This allows some 10,000 claims to one lock each, or 40,000 locks in sets; ending them all takes a fraction of a
/// second.
pub const CLAIM_BYTES: usize = 2 * 1024 * 1024;

/// The event counter of a namespace: each event has the next value. 0 is the namespace before its first event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
pub struct Revision(pub u64);

impl Revision {
    /// The largest revision: the maximum of a database's signed 64-bit column.
    pub const MAX: Self = Self(i64::MAX as u64);

    /// The revision of the event after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// One run of a server, as a number drawn at its start: 1 to 2^63 - 1. A server marked dead never uses it again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
pub struct ServerId(pub u64);

impl fmt::Display for ServerId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// The parameters for opening a session.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Opening {
    /// How long it lives without a renewal.
    #[serde(rename = "ttl_ms", with = "millis")]
    pub ttl: Duration,
    /// The owner, for human readers.
    pub owner: Text,
    /// Arbitrary labels.
    #[serde(default = "no_labels", skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: Metadata,
    /// The authenticated identity that opens it: no other may use it. `None`: no authentication was required, and any
    /// caller that knows its id may use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Text>,
}

/// The parameters of a session.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct SessionSpec {
    /// The session's id, unique among open sessions.
    #[serde(rename = "session")]
    pub id: Text,
    /// How long it lives without a renewal.
    #[serde(rename = "ttl_ms", with = "millis")]
    pub ttl: Duration,
    /// How long it outlives the stream of its client; `None`: until its TTL has passed.
    #[serde(rename = "disconnect_grace_ms", with = "optional_millis")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disconnect_grace: Option<Duration>,
    /// The owner, for human readers.
    pub owner: Text,
    /// Arbitrary labels.
    #[serde(default = "no_labels", skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: Metadata,
    /// The server that takes its renewals.
    pub home: ServerId,
    /// The authenticated identity that opened it; `None`: no authentication was required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<Text>,
    /// The client that has declared it, and renews it; `None`: it was opened by a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<Text>,
    /// The number by which its client has declared it; 0: there is no client.
    #[serde(default, skip_serializing_if = "is_default")]
    pub declared: u64,
}

impl SessionSpec {
    /// Whether a caller may use it: the identity that opened it, or any caller if authentication was not required then,
    /// or is not required now.
    #[must_use]
    pub fn is_of(&self, identity: Option<&Text>) -> bool {
        match (&self.identity, identity) {
            (Some(opener), Some(identity)) => opener == identity,
            _ => true,
        }
    }
}

/// An open session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its parameters, with current values of `ttl` and `home`.
    pub spec: SessionSpec,
    /// The revision of the event that opened it.
    pub opened: Revision,
    /// The ids of its claims, in the order of the requests.
    pub claims: Few<Revision>,
    /// The total size of its claims, by [`ClaimSpec::message_bytes`].
    pub claim_bytes: usize,
}

impl Session {
    /// A session without claims.
    #[must_use]
    pub fn new(spec: SessionSpec, opened: Revision) -> Self {
        Self { spec, opened, claims: Few::default(), claim_bytes: 0 }
    }
}

/// The parameters of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct ClaimSpec {
    /// The id of the session that made it.
    pub session: Text,
    /// The revision that opened that session.
    pub opened: Revision,
    /// The owner label of that session.
    pub owner: Text,
    /// The claimed locks: at least one, sorted, without duplicates.
    pub names: Names,
    /// The mode, the same for each lock.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mode: Mode,
    /// Waiters of higher priority are served first.
    #[serde(default, skip_serializing_if = "is_default")]
    pub priority: i32,
    /// Arbitrary labels.
    #[serde(default = "no_labels", skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: Metadata,
    /// For this long after the grant, the locks are not granted to others, even if released earlier. Zero: no minimum.
    #[serde(rename = "min_hold_ms", default, skip_serializing_if = "is_default")]
    pub min_hold: Millis,
    /// The server that received the last plain call for the claim. Only that server ends its wait, or cancels a grant
    /// that the call did not return. `None`: the request came by a client's stream, or the session has acknowledged the
    /// grant; then its home is responsible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_server: Option<ServerId>,
    /// The number by which its client has declared it; 0: it was requested by a call.
    #[serde(default, skip_serializing_if = "is_default")]
    pub declared: u64,
}

impl ClaimSpec {
    /// The maximum size of the claim in a message, in bytes.
    #[must_use]
    pub fn message_bytes(&self) -> usize {
        claim_bytes([&self.session, &self.owner], &self.names, &self.metadata)
    }

    /// The approximate size of its texts, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let names: usize = self.names.iter().map(|name| name.len()).sum();
        names + metadata_bytes(&self.metadata) + self.session.len() + self.owner.len()
    }
}

/// The maximum size of a claim in a message, in bytes, with the texts of its session.
pub(crate) fn claim_bytes(session: [&Text; 2], names: &[Text], metadata: &Metadata) -> usize {
    const NUMBERS: usize = 128;
    const ENTRY: usize = 16;
    let texts = session.into_iter().chain(names).map(|text| text.len()).sum::<usize>() + metadata_bytes(metadata);
    NUMBERS + ENTRY * (names.len() + metadata.len()) + texts
}

/// How a claim shares its locks with other claims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Not shared.
    #[default]
    Exclusive,
    /// Shared with other shared claims.
    Shared,
    /// Shared with other claims to permits, up to the limit: a semaphore.
    Permits {
        /// The number of permits that it takes of each lock; at least 1.
        permits: u32,
        /// The lock's limit when the claim was made; at least `permits`.
        limit: u32,
    },
}

impl Mode {
    /// The number of permits that it takes of each lock; 0 in the other modes.
    #[must_use]
    pub fn permits(self) -> u32 {
        match self {
            Self::Exclusive | Self::Shared => 0,
            Self::Permits { permits, .. } => permits,
        }
    }
}

/// The mode that an Acquire requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AskedMode {
    /// Not shared.
    #[default]
    Exclusive,
    /// Shared with other shared claims.
    Shared,
    /// A number of permits of each lock.
    Permits {
        /// The number of permits; at least 1.
        permits: u32,
        /// The limit that the caller expects, which must equal the lock's. `None`: any limit.
        limit: Option<u32>,
    },
}

impl AskedMode {
    /// Whether a claim of `mode` satisfies this request.
    pub(crate) fn is(self, mode: Mode) -> bool {
        match (self, mode) {
            (Self::Exclusive, Mode::Exclusive) | (Self::Shared, Mode::Shared) => true,
            (Self::Permits { permits, .. }, Mode::Permits { permits: claimed, .. }) => permits == claimed,
            _ => false,
        }
    }
}

/// The settings that an operator has made on a lock. They outlive claims.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct LockSettings {
    /// The number of permits, overriding the claims; at least 1. `None`: the limit of the existing claims.
    #[serde(rename = "permit_limit", skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Whether and how a waiter of higher priority preempts the holder. `None`: it waits for its turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preempt: Option<Preempt>,
}

impl LockSettings {
    /// Whether nothing is set.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The terms on which a better candidate preempts the holder of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Preempt {
    /// How long the candidate must have waited, as counted by its home.
    #[serde(rename = "settling_ms", with = "millis")]
    pub settling: Duration,
    /// How long the holder may keep the lock while it stops its work.
    #[serde(rename = "drain_ms", with = "millis")]
    pub drain: Duration,
}

/// A planned handoff that the holder has not confirmed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The waiting claim that is to hold next, or the best one if that has gone by then. `None`: the best one.
    pub to: Option<Revision>,
    /// The revision of the event that started it.
    pub started: Revision,
    /// How long the holder may keep the lock, as counted by its home. Then the transfer is cancelled.
    pub drain: Duration,
}

/// The state of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimState {
    /// Queued.
    Waiting,
    /// Granted.
    Held {
        /// The fencing token: the revision of the grant.
        token: Revision,
    },
    /// Ended, but the locks are not granted to others until the minimum hold has passed. The claim no longer belongs to
    /// its session.
    Lingering {
        /// The fencing token it was held with.
        token: Revision,
        /// The server that counts the minimum hold.
        home: ServerId,
    },
}

/// One session's claim to one or more locks at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The revision of the event that created it.
    pub id: Revision,
    /// Its parameters.
    pub spec: Arc<ClaimSpec>,
    /// Its state.
    pub state: ClaimState,
    /// The handoff requested of its holder. Only while held.
    pub transfer: Option<Box<Transfer>>,
}

impl Claim {
    /// A claim without a pending transfer.
    #[must_use]
    pub fn new(id: Revision, spec: Arc<ClaimSpec>, state: ClaimState) -> Self {
        Self { id, spec, state, transfer: None }
    }

    /// The fencing token, once granted.
    #[must_use]
    pub fn token(&self) -> Option<Revision> {
        match self.state {
            ClaimState::Waiting => None,
            ClaimState::Held { token } | ClaimState::Lingering { token, .. } => Some(token),
        }
    }

    /// Whether it has ended except for its minimum hold.
    #[must_use]
    pub fn lingers(&self) -> bool {
        matches!(self.state, ClaimState::Lingering { .. })
    }

    /// Its rank among waiters.
    #[must_use]
    pub fn rank(&self) -> Rank {
        Rank(Reverse(self.spec.priority), self.id)
    }
}

/// By its id.
impl Entry for Claim {
    type Key = Revision;
    type Value = Self;

    fn key(&self) -> Revision {
        self.id
    }

    fn value(&self) -> &Self {
        self
    }
}

/// The order in which waiters are served: higher priority first, then the earlier claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(pub Reverse<i32>, pub Revision);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_labels_are_shared() {
        assert!(no_labels().is_empty() && Arc::ptr_eq(&no_labels(), &no_labels()));
    }

    #[test]
    fn settings_are_default_only_if_nothing_is_set() {
        let preempt = Some(Preempt { settling: Duration::ZERO, drain: Duration::ZERO });
        assert!(LockSettings::default().is_default());
        assert!(!LockSettings { limit: Some(1), preempt: None }.is_default());
        assert!(!LockSettings { limit: None, preempt }.is_default());
    }
}
