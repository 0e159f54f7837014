//! The nouns of a namespace: sessions, locks, claims.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use crate::few::Few;
use crate::names::{Names, Text};

/// Labels that a client attached to a session or claim.
pub type Metadata = Arc<BTreeMap<String, String>>;

/// No labels: the same for all who have none, of whom there are many.
#[must_use]
pub fn no_labels() -> Metadata {
    static NONE: LazyLock<Metadata> = LazyLock::new(Metadata::default);
    NONE.clone()
}

/// How many bytes labels take, keys and values together.
#[must_use]
pub fn metadata_bytes(metadata: &Metadata) -> usize {
    metadata.iter().map(|(key, value)| key.len() + value.len()).sum()
}

/// The most that the claims of one session take in a message, in bytes: all of them are in the answer to its attachment. They are some
/// 10,000 claims to one lock each, or 40,000 locks in sets; to end them all takes a fraction of a second.
pub const CLAIM_BYTES: usize = 2 * 1024 * 1024;

/// The counter of a namespace: each event has the next one. 0 is the namespace before its first event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

impl Revision {
    /// The largest revision: what a database's signed 64-bit column takes.
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

/// One run of a server, as a number drawn at its start: 1 to 2^63 - 1. A server marked dead never comes back under it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerId(pub u64);

impl fmt::Display for ServerId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// How to open a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// How long it lives without a renewal.
    pub ttl: Duration,
    /// How long it outlives its stream; none: until its TTL has passed.
    pub disconnect_grace: Option<Duration>,
    /// Who it is, for people.
    pub owner: Text,
    /// Free labels.
    pub metadata: Metadata,
    /// Who opens it, as was proved: nobody else may use it. `None`: nobody had to prove anything, and whoever knows its id may.
    pub identity: Option<Text>,
}

/// What a session's home knew of it when a request came by the stream that it was attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attached {
    /// How often its client said to have attached it; 0 if it does not count.
    pub count: u64,
    /// When the database had lost history last. Later attachments may be part of what it loses next, and forgotten.
    pub lost: Revision,
}

/// What a session is opened with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSpec {
    /// The session's id, unique among the open ones.
    pub id: Text,
    /// How long it lives without a renewal.
    pub ttl: Duration,
    /// How long it outlives its stream; none: until its TTL has passed.
    pub disconnect_grace: Option<Duration>,
    /// Who it is, for people.
    pub owner: Text,
    /// Free labels.
    pub metadata: Metadata,
    /// The server that takes its renewals.
    pub home: ServerId,
    /// The highest count of its attachments that its client has told; 0: none.
    pub attachment: u64,
    /// Who opened it, as was proved; `None`: nobody had to prove anything.
    pub identity: Option<Text>,
    /// The program that opened it, by the id that it has drawn: no other one may attach it. `None`: programs are not compared.
    pub client: Option<Text>,
}

impl SessionSpec {
    /// Whether somebody may use it: who opened it, or anybody if nobody had to prove anything then, or has to now.
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
    /// What it was opened with; `ttl`, `disconnect_grace`, `home` and `attachment` as they are now.
    pub spec: SessionSpec,
    /// The revision of the event that opened it.
    pub opened: Revision,
    /// The ids of its claims, in the order in which they were asked for.
    pub claims: Few<Revision>,
    /// How large its claims are together, by [`ClaimSpec::message_bytes`].
    pub claim_bytes: usize,
}

impl Session {
    /// A session without claims.
    #[must_use]
    pub fn new(spec: SessionSpec, opened: Revision) -> Self {
        Self { spec, opened, claims: Few::default(), claim_bytes: 0 }
    }
}

/// What a claim is made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimSpec {
    /// The id of the session that made it.
    pub session: Text,
    /// The revision that opened that session.
    pub opened: Revision,
    /// The owner label of that session.
    pub owner: Text,
    /// The locks claimed: at least one, sorted, no name twice.
    pub names: Names,
    /// How they are claimed: each in the same mode.
    pub mode: Mode,
    /// Higher goes first among waiters.
    pub priority: i32,
    /// Free labels.
    pub metadata: Metadata,
    /// For this long after the grant nobody is granted these locks, even if they are released earlier. Zero: no minimum.
    pub min_hold: Duration,
    /// The server that has the plain call that asked for it last. Only that server ends its wait, or cancels a grant that the call did
    /// not return. `None`: a client's stream asked for it, or the session has acknowledged the grant; then its home does.
    pub awaited_at: Option<ServerId>,
}

impl ClaimSpec {
    /// How many bytes it takes in a message, at the most.
    #[must_use]
    pub fn message_bytes(&self) -> usize {
        claim_bytes([&self.session, &self.owner], &self.names, &self.metadata)
    }

    /// About how many bytes its texts take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let names: usize = self.names.iter().map(|name| name.len()).sum();
        names + metadata_bytes(&self.metadata) + self.session.len() + self.owner.len()
    }
}

/// How many bytes a claim takes in a message, at the most, with the texts of its session.
pub(crate) fn claim_bytes(session: [&Text; 2], names: &[Text], metadata: &Metadata) -> usize {
    const NUMBERS: usize = 128;
    const ENTRY: usize = 16;
    let texts = session.into_iter().chain(names).map(|text| text.len()).sum::<usize>() + metadata_bytes(metadata);
    NUMBERS + ENTRY * (names.len() + metadata.len()) + texts
}

/// With whom a claim can share its locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// With nobody.
    #[default]
    Exclusive,
    /// With other shared claims.
    Shared,
    /// With other claims to permits, as long as no more than the limit are out: a semaphore.
    Permits {
        /// How many permits it takes of each lock: at least 1.
        permits: u32,
        /// The lock's limit when the claim was made; at least `permits`.
        limit: u32,
    },
}

impl Mode {
    /// How many permits it takes of each lock; 0 if it is no claim to permits.
    #[must_use]
    pub fn permits(self) -> u32 {
        match self {
            Self::Exclusive | Self::Shared => 0,
            Self::Permits { permits, .. } => permits,
        }
    }
}

/// What an operator has set on a lock. It outlives claims.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockSettings {
    /// How many permits there are, whatever claims say; at least 1. `None`: what the claims that are there say.
    pub limit: Option<u32>,
    /// Whether and how a waiter of higher priority is handed the lock by the holder. `None`: it waits for its turn.
    pub preempt: Option<Preempt>,
}

impl LockSettings {
    /// Whether nothing is set.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How a better candidate is handed a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preempt {
    /// For how long it must have waited, as its home counts.
    pub settling: Duration,
    /// For how long the holder may go on, to stop its work.
    pub drain: Duration,
}

/// A planned handoff that the holder has not confirmed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The waiting claim that is to hold next; the best one if that is gone by then. `None`: the best one.
    pub to: Option<Revision>,
    /// The revision of the event that started it.
    pub started: Revision,
    /// For how long the holder may go on, as its home counts. Then the transfer is off.
    pub drain: Duration,
}

/// Where a claim stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimState {
    /// In the queue.
    Waiting,
    /// Granted.
    Held {
        /// The fencing token: the revision of the grant.
        token: Revision,
    },
    /// Over, but nobody is granted the locks until the minimum hold has passed. It no longer belongs to its session.
    Lingering {
        /// The fencing token it was held with.
        token: Revision,
        /// The server that counts the minimum hold.
        home: ServerId,
    },
}

/// One session's stake in one or more locks at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The revision of the event that created it.
    pub id: Revision,
    /// What it was made with.
    pub spec: Arc<ClaimSpec>,
    /// Where it stands.
    pub state: ClaimState,
    /// The handoff that its holder has been asked for. Only while held.
    pub transfer: Option<Box<Transfer>>,
}

impl Claim {
    /// A claim as it stands when nothing else is going on.
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

    /// Whether it is over, but for its minimum hold.
    #[must_use]
    pub fn lingers(&self) -> bool {
        matches!(self.state, ClaimState::Lingering { .. })
    }

    /// Its place among waiters.
    #[must_use]
    pub fn rank(&self) -> Rank {
        Rank(Reverse(self.spec.priority), self.id)
    }
}

/// The order in which waiters are served: higher priority first, then the earlier claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(pub Reverse<i32>, pub Revision);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_many_do_not_have_are_there_once() {
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
