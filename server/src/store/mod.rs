//! Stores: the one thing that servers share. A store keeps the log of each namespace, the rows that sum it up, and the
//! heartbeats of the servers. It never decides who gets a lock.

mod codec;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod instrumented;
pub(crate) mod log_reader;
mod memory;
mod metrics;
mod mysql;
mod open;
mod postgres;
mod spans;
mod sql;
mod sqlite;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tenure_core::{Claim, Event, Group, LockSettings, Recorded, Revision, ServerId, Session, Text};

pub(crate) use codec::millis;
pub use codec::{CodecError, decode_events, encode_events};
pub(crate) use instrumented::counted;
pub use memory::{Fault, Hold, MemoryDatabase, MemoryStore};
pub(crate) use metrics::StoreCounts;
pub(crate) use open::open_counted;
pub use open::{mark_restored, migrate, open, pending_migrations};
pub use sql::{OpenError, StoreOptions};
pub use sqlite::{BackupError, back_up, restore};

/// What can go wrong, and what the caller may conclude from it.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum StoreError {
    /// The namespace (or the rows) are not at the expected revision, or the database is not the one that the head was
    /// written on. Nothing was written, and an append that met this will never succeed. Read on from where you are.
    #[error("another server was first")]
    Conflict,
    /// The history that was asked for has been dropped. Load a snapshot.
    #[error("history up to revision {0} was dropped")]
    Compacted(Revision),
    /// The store cannot be reached. Surely nothing was written.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// The store may or may not have committed, or may yet. Only a retry of the very same append tells.
    #[error("it is not known whether the store committed: {0}")]
    OutcomeUnknown(String),
}

/// The events of one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The namespace.
    pub namespace: Text,
    /// The namespace's revision before.
    pub previous: Revision,
    /// The events, at least one. Their revisions follow `previous` without a gap, but for a batch that consists of one
    /// `HistoryLost`, which jumps ahead.
    pub events: Vec<Recorded>,
    /// The server that appends.
    pub server: ServerId,
    /// Distinguishes this batch from every other one of that server.
    pub number: u64,
    /// That server's wall clock in ms since 1970, for people.
    pub at_ms: i64,
}

impl Batch {
    /// The namespace's revision after the batch.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.events.last().map_or(self.previous, |last| last.revision)
    }

    /// About how many bytes it takes in memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.events.iter().map(|recorded| recorded.event.bytes()).sum()
    }

    /// Whether this is the batch of one `HistoryLost` that makes the database it is appended to the head's.
    #[must_use]
    pub fn declares_loss(&self) -> bool {
        matches!(self.events.as_slice(), [Recorded { event: Event::HistoryLost { .. }, .. }])
    }
}

/// What happened in a namespace after some revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tail {
    /// The batches that are there, oldest first; perhaps not all of them up to the head.
    pub batches: Vec<Arc<Batch>>,
    /// The head as it was not earlier than the read began.
    pub head: Head,
}

/// A namespace's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The revision.
    pub revision: Revision,
    /// Up to where the rows sum up the log.
    pub rows_revision: Revision,
    /// False if the database is not (or may not be) the one that the head was written on: another timeline, another server id, a
    /// restored backup. Then commits may have been lost, even if the revision does not show it. At revision 0: if it is not the
    /// one that the tables were made on. Then a namespace may have been lost as a whole.
    pub intact: bool,
    /// The database's clock in ms since 1970.
    pub clock_ms: i64,
}

/// What was found of a lock in a piece of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The batches of the piece that may be about the lock, newest first.
    pub batches: Vec<Arc<Batch>>,
    /// What is before the piece.
    pub older: Older,
}

/// What is before a piece of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Older {
    /// Perhaps more: the batches that end at this revision or before have not been looked at.
    Until(Revision),
    /// Nothing: here the log begins.
    Nothing {
        /// Up to where history was dropped; 0 if it was not.
        gone: Revision,
        /// The stamp of the oldest batch that is left, if there is one.
        since_ms: Option<i64>,
    },
}

/// How large a piece of the log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The last revision of the piece.
    pub until: Revision,
    /// The bytes of its events, as they are stored.
    pub bytes: u64,
}

/// The state of a namespace at `rows_revision`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// The revision that the rows stand for.
    pub revision: Revision,
    /// The revision of the last `HistoryLost` up to there; 0 if there was none.
    pub lost: Revision,
    /// The open sessions by opening revision. `claims` of each is empty: it follows from the claims.
    pub sessions: Vec<Session>,
    /// The claims by id, lingering ones too.
    pub claims: Vec<Claim>,
    /// When those that have a token were granted, as far as that is known, in the same order: the token, and the stamp of the batch
    /// that granted it, in ms since 1970.
    pub granted: Vec<(Revision, i64)>,
    /// What is set on locks, by name in byte order.
    pub settings: Vec<(Text, LockSettings)>,
    /// The groups by id.
    pub groups: Vec<Arc<Group>>,
}

/// Row changes that bring the rows of a namespace from one revision to a later one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowChanges {
    /// The revision that the rows are at.
    pub from: Revision,
    /// The revision that they are brought to.
    pub to: Revision,
    /// The revision of the last `HistoryLost` up to there; 0 if there was none.
    pub lost: Revision,
    /// Sessions as they are at `to`. Replaces the row of the same `opened`, if there is one.
    pub sessions: Vec<Session>,
    /// The `opened` of sessions that are gone at `to`. Absent rows are no error.
    pub ended_sessions: Vec<Revision>,
    /// Claims as they are at `to`. Replaces the rows of the same `id`, if there are any.
    pub claims: Vec<Claim>,
    /// When those that have a token were granted, as far as that is known, in the same order: the token, and the stamp of the batch
    /// that granted it, in ms since 1970.
    pub granted: Vec<(Revision, i64)>,
    /// The `id` of claims that are gone at `to`. Absent rows are no error.
    pub ended_claims: Vec<Revision>,
    /// All that is set on locks at `to`, by name in byte order, if any of that has changed. Replaces all rows.
    pub settings: Option<Vec<(Text, LockSettings)>>,
    /// Groups as they are at `to`, with all their members. Replaces the rows of the same `id`, if there are any.
    pub groups: Vec<Arc<Group>>,
    /// The `id` of groups that are gone at `to`. Absent rows are no error.
    pub ended_groups: Vec<Revision>,
}

/// The heartbeat that registers a server.
pub const FIRST_HEARTBEAT: u64 = 1;

/// The bit of a heartbeat that says that its server drains. In the heartbeat, so that it needs no column of its own: servers of earlier
/// versions only compare heartbeats.
const DRAINS: u64 = 1 << 62;

/// The heartbeat that follows another one, of a server that drains or does not.
pub(crate) fn next_heartbeat(heartbeat: u64, drains: bool) -> u64 {
    (heartbeat + 1) | if drains { DRAINS } else { 0 }
}

/// A server's presence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presence {
    /// The server.
    pub server: ServerId,
    /// Changes with every heartbeat.
    pub heartbeat: u64,
    /// How long others wait for the heartbeat to change before they mark the server dead.
    pub lease: Duration,
    /// What people call it.
    pub label: String,
    /// Where the other servers reach it, as host and port; empty if nowhere.
    pub address: String,
    /// The SHA-256 of the certificate that it shows them there, in hexadecimal; empty if it speaks no TLS.
    pub certificate: String,
    /// Whether it was marked dead.
    pub dead: bool,
}

impl Presence {
    /// Whether the server is about to stop: it takes no clients any more.
    #[must_use]
    pub fn drains(&self) -> bool {
        self.heartbeat & DRAINS != 0
    }
}

/// A database of lock tables, as narrow as can be. Every method may be called by any number of tasks at once; a call that is
/// dropped halfway counts as one with an unknown outcome. No call waits longer than the store's own bound (a few seconds
/// for each statement).
///
/// Texts must not contain NUL. Durations are kept in whole milliseconds, rounded up.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Whether this process is the only one that can write. Then what it has applied is the head, without asking.
    fn exclusive(&self) -> bool;

    /// Appends a batch if the namespace is at `batch.previous` and the database is the one that its head was written on, and
    /// makes it durable. `Conflict` if not. A namespace that does not exist is at revision 0, and the append creates it, if the
    /// database is the one that the tables were made on.
    ///
    /// After `OutcomeUnknown`, append the same batch again: if it had been committed that gives `Conflict`, and the batch
    /// is then found in the log by its server and number; if it had not, the retry commits or fails for itself. An append
    /// that is still under way in the database cannot be overtaken by the retry.
    ///
    /// A batch of one `HistoryLost` is appended whatever database the head was written on, and makes this one the head's;
    /// `previous` must still match, and its revision must be higher.
    ///
    /// `notify`: whether other servers live that are not told otherwise, and so should be at once where the database can.
    async fn append(&self, batch: &Batch, notify: bool) -> Result<(), StoreError>;

    /// Reads the batches after `after`, oldest first, about `limit` events at the most (at least one batch, if there is
    /// any), and then the head. Batches that began before `after` and end after it are included whole. All that was
    /// committed before the call began is seen: a later commit is never shown without the earlier ones.
    /// `Compacted` if some of the batches after `after` have been dropped. Of a namespace that does not exist: nothing, and
    /// a head at revision 0. `after` at or beyond the head: no batches.
    async fn read(&self, namespace: &str, after: Revision, limit: usize) -> Result<Tail, StoreError>;

    /// Looks back in the log for a lock: at the batches that end at `until` or before, newest first, of about `limit`
    /// events (at least one batch, if there is any). Gives those of them in which a claim to `name` has an event, and those
    /// that declare a loss, whole; and perhaps others. No statement looks at more than `limit` events and one batch, so
    /// whoever wants to look further asks again with what [`Found::older`] says. What was dropped is not there, which is
    /// no error. All that was committed before the call began is seen. Of a namespace that does not exist: nothing, and
    /// nothing older.
    async fn search(&self, namespace: &str, name: &str, until: Revision, limit: usize) -> Result<Found, StoreError>;

    /// Reads the rows, as of one moment. Of a namespace that does not exist: none, at revision 0.
    async fn load(&self, namespace: &str) -> Result<Rows, StoreError>;

    /// Brings the rows of a namespace forward in one transaction, if they are at `changes.from`; `Conflict` if not. There are no
    /// rows then of what came about after `changes.from`, and none are looked for.
    /// `changes.to` is the end of a batch in the log, and the database is the one that the head was written on: `Conflict`
    /// if not, since these rows would sum up a history that was lost. Outcomes are never unknown to harm: rows are redone
    /// from `Head::rows_revision`.
    async fn save(&self, namespace: &str, changes: &RowChanges) -> Result<(), StoreError>;

    /// The revisions of all namespaces, by name: all that was committed before the call began is counted.
    async fn heads(&self) -> Result<Vec<(Text, Revision)>, StoreError>;

    /// Writes this server's presence with `heartbeat` as given, unless it was marked dead, and reads everybody's, its own included.
    /// Only [`FIRST_HEARTBEAT`] registers a server: one that was forgotten does not come back. Whoever finds itself dead or missing there has
    /// sent its heartbeat too late, and must start over as a new server.
    /// Uses a connection of its own, so that nothing else delays it. An exclusive store marks all others dead here.
    async fn heartbeat(&self, presence: &Presence) -> Result<Vec<Presence>, StoreError>;

    /// Marks a server dead if its heartbeat is still this one. True if it is dead now, or not there.
    async fn mark_dead(&self, server: ServerId, heartbeat: u64) -> Result<bool, StoreError>;

    /// Forgets servers that are dead, when nothing has them as home any more.
    async fn forget(&self, servers: &[ServerId]) -> Result<(), StoreError>;

    /// How large the events of the oldest `limit` batches after `after` are, as they are stored. `None` if there are none. Batches
    /// that were dropped count for nothing.
    async fn measure(&self, namespace: &str, after: Revision, limit: usize) -> Result<Option<Measured>, StoreError>;

    /// Drops batches that end at `until` or before, and those stamped before `before_ms`, but none beyond the rows' revision and never
    /// the newest one, in small transactions. Returns the revision up to which history is gone. Drops some thousands of batches at the
    /// most: call it again as long as that revision rises. Batches are dropped oldest first; one that is kept keeps all that follows.
    async fn trim(&self, namespace: &str, until: Revision, before_ms: i64) -> Result<Revision, StoreError>;

    /// Why what was written last was not taken, of an exclusive store that is counted. Others show it by their heartbeats.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// Returns when there is reason to believe that another server has appended since the last call: a hint, which may
    /// be late, missing or wrong. Stores that cannot know never return.
    async fn hint(&self);
}
