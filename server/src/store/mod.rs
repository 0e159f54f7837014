//! The store contract: a store is the only thing that servers share. It keeps the log of each namespace, the rows that
//! sum it up, and the heartbeats of the servers. It never decides which caller gets a lock.

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
use tenure_core::{Claim, Client, Event, Group, LockSettings, Recorded, Rejection, Revision, ServerId, Session, Text};

pub use codec::{CodecError, decode_events, encode_events};
pub(crate) use instrumented::counted;
pub use memory::{Fault, Hold, MemoryDatabase, MemoryStore};
pub(crate) use metrics::StoreCounts;
pub(crate) use open::open_counted;
pub use open::{mark_restored, migrate, open, pending_migrations};
pub use sql::{OpenError, StoreOptions};
pub use sqlite::{back_up, restore};

/// An error of a store. Each variant says what the caller may conclude from it.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum StoreError {
    /// The namespace (or the rows) are not at the expected revision, or the head was written on another database.
    /// Nothing was written, and this append will never succeed. Continue reading from the current revision.
    #[error("another server was first")]
    Conflict,
    /// The requested history has been dropped. Load a snapshot.
    #[error("history up to revision {0} was dropped")]
    Compacted(Revision),
    /// The store cannot be reached. It is certain that nothing was written.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// The store may have committed, or may still commit. Only a retry of the identical append shows which.
    #[error("it is not known whether the store committed: {0}")]
    OutcomeUnknown(String),
}

impl From<StoreError> for Rejection {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::OutcomeUnknown(_) => Self::OutcomeUnknown,
            error => Self::Unavailable(error.to_string()),
        }
    }
}

/// The events of one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The namespace.
    pub namespace: Text,
    /// The namespace's revision before.
    pub previous: Revision,
    /// The events, at least one. Their revisions follow `previous` without a gap, except in a batch of one
    /// `HistoryLost`, which jumps ahead.
    pub events: Vec<Recorded>,
    /// The server that appends.
    pub server: ServerId,
    /// Distinguishes this batch from all other batches of that server.
    pub number: u64,
    /// That server's wall clock in ms since 1970, for display.
    pub at_ms: i64,
}

impl Batch {
    /// The namespace's revision after the batch.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.events.last().map_or(self.previous, |last| last.revision)
    }

    /// Approximate size in memory, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.events.iter().map(|recorded| recorded.event.bytes()).sum()
    }

    /// Whether this is a batch of one `HistoryLost`, which makes the database that it is appended to the head's.
    #[must_use]
    pub fn declares_loss(&self) -> bool {
        matches!(self.events.as_slice(), [Recorded { event: Event::HistoryLost { .. }, .. }])
    }
}

/// The batches of a namespace after some revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tail {
    /// The batches, oldest first; not necessarily all of them up to the head.
    pub batches: Vec<Arc<Batch>>,
    /// The head, as of a moment not before the read began.
    pub head: Head,
}

/// A namespace's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The revision.
    pub revision: Revision,
    /// The revision up to which the rows sum up the log.
    pub rows_revision: Revision,
    /// False if the head was not (or may not have been) written on this database: another timeline, another server id,
    /// a restored backup. Commits may then have been lost, even if the revision does not show it. At revision 0: false
    /// if the tables were not created on this database. The whole namespace may then have been lost.
    pub intact: bool,
    /// The database's clock in ms since 1970.
    pub clock_ms: i64,
}

/// The result of a search for a lock in a piece of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The batches of the piece that may concern the lock, newest first.
    pub batches: Vec<Arc<Batch>>,
    /// The state of the log before the piece.
    pub older: Older,
}

/// The state of the log before a piece of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Older {
    /// There may be more: batches that end at this revision or before have not been examined.
    Until(Revision),
    /// The log begins here.
    Nothing {
        /// The revision up to which history was dropped; 0 if none was.
        dropped: Revision,
        /// The stamp of the oldest remaining batch, if any.
        since_ms: Option<i64>,
    },
}

/// The size of a piece of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The last revision of the piece.
    pub until: Revision,
    /// The size of its events as stored, in bytes.
    pub bytes: u64,
}

/// The state of a namespace at `rows_revision`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// The revision that the rows represent.
    pub revision: Revision,
    /// The revision of the last `HistoryLost` up to `revision`; 0 if there was none.
    pub lost: Revision,
    /// The clients by id in byte order. `items` of each is empty: it follows from the other rows.
    pub clients: Vec<Client>,
    /// The open sessions by opening revision. `claims` of each is empty: it follows from `claims` here. The home of a
    /// declared session may be an earlier one: its client's is valid.
    pub sessions: Vec<Session>,
    /// The claims by id, including lingering ones.
    pub claims: Vec<Claim>,
    /// The known grant times of the claims that have a token, in the same order: the token, and the stamp of the batch
    /// that granted it, in ms since 1970.
    pub granted: Vec<(Revision, i64)>,
    /// The settings of locks, by name in byte order.
    pub settings: Vec<(Text, LockSettings)>,
    /// The groups by id.
    pub groups: Vec<Arc<Group>>,
}

/// Row changes that bring the rows of a namespace from one revision to a later one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowChanges {
    /// The revision that the rows are at before the change.
    pub from: Revision,
    /// The revision that the rows are at after the change.
    pub to: Revision,
    /// The revision of the last `HistoryLost` up to `to`; 0 if there was none.
    pub lost: Revision,
    /// Clients as of `to`. Each replaces the row of the same `id`, if any; `items` are not written.
    pub clients: Vec<Client>,
    /// The `id` of clients that no longer exist at `to`. Absent rows are not an error.
    pub ended_clients: Vec<Text>,
    /// Sessions as of `to`. Each replaces the row of the same `opened`, if any.
    pub sessions: Vec<Session>,
    /// The `opened` of sessions that no longer exist at `to`. Absent rows are not an error.
    pub ended_sessions: Vec<Revision>,
    /// Claims as of `to`. Each replaces the rows of the same `id`, if any.
    pub claims: Vec<Claim>,
    /// The known grant times of the claims that have a token, in the same order: the token, and the stamp of the batch
    /// that granted it, in ms since 1970.
    pub granted: Vec<(Revision, i64)>,
    /// The `id` of claims that no longer exist at `to`. Absent rows are not an error.
    pub ended_claims: Vec<Revision>,
    /// All settings of locks as of `to`, by name in byte order, if any has changed. Replaces all rows.
    pub settings: Option<Vec<(Text, LockSettings)>>,
    /// Groups as of `to`, with all their members. Each replaces the rows of the same `id`, if any.
    pub groups: Vec<Arc<Group>>,
    /// The `id` of groups that no longer exist at `to`. Absent rows are not an error.
    pub ended_groups: Vec<Revision>,
}

/// The heartbeat that registers a server.
pub const FIRST_HEARTBEAT: u64 = 1;

/// The bit of a heartbeat that marks its server as draining. It is part of the heartbeat so that it needs no column of
/// its own: servers of earlier versions only compare heartbeats.
const DRAINS: u64 = 1 << 62;

/// The heartbeat after `heartbeat`, of a server that drains or not.
pub(crate) fn next_heartbeat(heartbeat: u64, drains: bool) -> u64 {
    (heartbeat + 1) | if drains { DRAINS } else { 0 }
}

/// The record of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerRecord {
    /// The server.
    pub server: ServerId,
    /// The heartbeat, which changes each time it is written.
    pub heartbeat: u64,
    /// How long other servers wait for the heartbeat to change before they mark the server dead.
    pub lease: Duration,
    /// Name for display.
    pub label: String,
    /// Host and port at which other servers reach it; empty if they cannot.
    pub address: String,
    /// The SHA-256 of the certificate that it presents there, in hexadecimal; empty without TLS.
    pub certificate: String,
    /// Whether it was marked dead.
    pub dead: bool,
}

impl ServerRecord {
    /// Whether the server is about to stop and no longer accepts clients.
    #[must_use]
    pub fn drains(&self) -> bool {
        self.heartbeat & DRAINS != 0
    }
}

/// A database of lock tables, behind an interface that is as narrow as possible. Any number of tasks may call any
/// method concurrently; a call that is dropped before it completes has an unknown outcome. No call waits longer than
/// the store's own bound (a few seconds for each statement).
///
/// Texts must not contain NUL. Durations are kept in whole milliseconds, rounded up.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Whether this process is the only writer. The state that it has applied is then the head, without a read.
    fn exclusive(&self) -> bool;

    /// Appends a batch durably if the namespace is at `batch.previous` and its head was written on this database;
    /// `Conflict` if not. A namespace that does not exist is at revision 0, and the append creates it if the tables
    /// were created on this database.
    ///
    /// After `OutcomeUnknown`, append the same batch again: if it had been committed, the retry returns `Conflict`, and
    /// the log contains the batch under its server and number; if not, the retry commits or fails on its own. The retry
    /// cannot overtake an append that is still in progress in the database.
    ///
    /// A batch of one `HistoryLost` is appended regardless of the database that the head was written on, and makes this
    /// one the head's; `previous` must still match, and its revision must be higher.
    ///
    /// `notify`: whether live servers exist that learn of the append in no other way, so that the database should
    /// notify them at once where it can.
    async fn append(&self, batch: &Batch, notify: bool) -> Result<(), StoreError>;

    /// Reads the batches after `after`, oldest first, about `limit` events at most (at least one batch, if any exists),
    /// and then the head. A batch that begins before `after` and ends after it is included whole. Everything committed
    /// before the call began is seen: a later commit is never returned without the earlier ones. `Compacted` if some of
    /// the batches after `after` have been dropped. For a namespace that does not exist: no batches, and a head at
    /// revision 0. For `after` at or beyond the head: no batches.
    async fn read(&self, namespace: &str, after: Revision, limit: usize) -> Result<Tail, StoreError>;

    /// Searches the log backwards for a lock, through the batches that end at `until` or before, newest first, of about
    /// `limit` events (at least one batch, if any exists). Returns whole the batches in which a claim to `name` has an
    /// event and those that declare a loss; it may return others. No statement examines more than `limit` events and
    /// one batch; to search further back, call again with the revision in [`Found::older`]. Dropped batches are
    /// missing, which is not an error. Everything committed before the call began is seen. For a namespace that does
    /// not exist: no batches, and nothing older.
    async fn search(&self, namespace: &str, name: &str, until: Revision, limit: usize) -> Result<Found, StoreError>;

    /// Reads the rows as of one moment. For a namespace that does not exist: none, at revision 0.
    async fn load(&self, namespace: &str) -> Result<Rows, StoreError>;

    /// Brings the rows of a namespace forward in one transaction, if they are at `changes.from`; `Conflict` if not.
    /// Except for clients, nothing created after `changes.from` has rows yet, so none are looked up. `changes.to` must be the end of a
    /// batch in the log, and the head must have been written on this database: `Conflict` if not, since these rows
    /// would sum up a lost history. An unknown outcome is harmless: rows are redone from `Head::rows_revision`. Delays no
    /// append, however long it takes.
    async fn save(&self, namespace: &str, changes: &RowChanges) -> Result<(), StoreError>;

    /// The revisions of all namespaces, by name. Everything committed before the call began is counted.
    async fn heads(&self) -> Result<Vec<(Text, Revision)>, StoreError>;

    /// Writes this server's record with `heartbeat` as given, unless it was marked dead, and reads the record of
    /// all servers, its own included. Only [`FIRST_HEARTBEAT`] registers a server: a forgotten server cannot register
    /// again. A server that finds itself dead or missing in the result has sent its heartbeat too late, and must start
    /// over as a new server. Uses a connection of its own, so that nothing else delays it. An exclusive store marks all
    /// other servers dead here.
    async fn heartbeat(&self, record: &ServerRecord) -> Result<Vec<ServerRecord>, StoreError>;

    /// Marks a server dead if its heartbeat is still `heartbeat`. True if it is now dead or absent.
    async fn mark_dead(&self, server: ServerId, heartbeat: u64) -> Result<bool, StoreError>;

    /// Removes those of the servers that are dead; to be called when nothing has them as home any more.
    async fn forget(&self, servers: &[ServerId]) -> Result<(), StoreError>;

    /// The size of the events of the oldest `limit` batches after `after`, as stored. `None` if there are none. Dropped
    /// batches do not count.
    async fn measure(&self, namespace: &str, after: Revision, limit: usize) -> Result<Option<Measured>, StoreError>;

    /// Drops batches that end at `until` or before, and those stamped before `before_ms`, but none beyond the rows'
    /// revision and never the newest one, in small transactions. Returns the revision up to which history was dropped.
    /// One call drops some thousands of batches at most: call it again as long as that revision rises. Batches are
    /// dropped oldest first; a batch that is kept keeps all later ones.
    async fn trim(&self, namespace: &str, until: Revision, before_ms: i64) -> Result<Revision, StoreError>;

    /// Why the last write failed, for an exclusive store whose calls are counted. Other stores show this by their
    /// heartbeats.
    fn write_error(&self) -> Option<String> {
        None
    }

    /// Returns when another server has probably appended since the last call. This is a hint, which may be late,
    /// missing or wrong. Stores that cannot know never return.
    async fn hint(&self);
}
