//! What clients did and saw, by the world's clock.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::host::HostId;

/// With whom a lock is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// With nobody.
    Exclusive,
    /// With those who share.
    Shared,
    /// One of so many permits.
    Permit(u32),
}

/// What came of something that a client asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It holds, with this token.
    Acquired(u64),
    /// Somebody else does.
    Busy,
    /// It was done.
    Done,
    /// It was refused, or is not known.
    Failed(String),
}

/// Something that a client asked for.
#[derive(Clone, Debug)]
pub struct Call {
    /// Who.
    pub client: HostId,
    /// Of which lock.
    pub name: String,
    /// What.
    pub kind: CallKind,
    /// When it was asked.
    pub start: Duration,
    /// When it was answered.
    pub end: Duration,
    /// What came of it.
    pub outcome: Outcome,
}

/// What was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// To hold it.
    Acquire(Sharing),
    /// To give back what is held with this token.
    Release(u64),
}

/// A renewal of a session by a plain call that was answered.
#[derive(Clone, Debug)]
pub struct Renewal {
    /// The session.
    pub session: String,
    /// When it was asked for.
    pub start: Duration,
    /// For how long the session lives from then, it was answered.
    pub ttl: Duration,
}

/// A client's library said that a hold is valid.
#[derive(Clone, Debug)]
pub struct Sighting {
    /// When.
    pub at: Duration,
    /// Of which lock.
    pub name: String,
    /// With which token.
    pub token: u64,
    /// With whom it is shared.
    pub sharing: Sharing,
}

/// What a watch told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Telling {
    /// How all is at this revision.
    Snapshot {
        /// All up to here is told.
        revision: u64,
        /// The tokens of those who hold, by lock.
        holders: Vec<(String, u64)>,
    },
    /// What happened in one commit, by lock, and up to where all is told.
    Events {
        /// Revision, lock and kind of each.
        events: Vec<(u64, String, &'static str)>,
        /// All up to here is told.
        revision: u64,
    },
    /// Nothing up to this revision.
    Progress(u64),
    /// What came after is not there any more.
    Gone,
}

/// All of that.
#[derive(Debug, Default)]
pub struct History {
    /// What clients asked for, as it was answered.
    pub calls: Vec<Call>,
    /// Sessions of which a server said that it could not open them, and that nothing was done.
    pub refused: Vec<String>,
    /// Renewals by plain calls.
    pub renewals: Vec<Renewal>,
    /// When holds were valid.
    pub sightings: Vec<Sighting>,
    /// What each watch told.
    pub watches: Vec<Vec<Telling>>,
}

/// A history that is being written.
#[derive(Clone, Debug, Default)]
pub struct Diary(Arc<Mutex<History>>);

impl Diary {
    /// Writes.
    pub fn write<T>(&self, entry: impl FnOnce(&mut History) -> T) -> T {
        entry(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What was written.
    #[must_use]
    pub fn take(&self) -> History {
        self.write(std::mem::take)
    }
}
