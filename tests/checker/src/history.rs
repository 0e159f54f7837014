//! What clients did and saw, by one clock.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// With whom a lock is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sharing {
    /// With nobody.
    Exclusive,
    /// With those who share.
    Shared,
    /// With those who have permits out of this limit.
    Permits(u32),
}

impl Sharing {
    /// Whether two may hold a lock in these ways at once, as far as these ways say.
    #[must_use]
    pub fn agrees_with(self, other: Self) -> bool {
        matches!((self, other), (Self::Shared, Self::Shared) | (Self::Permits(_), Self::Permits(_)))
    }
}

/// What came of something that a client asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// It holds, with this token.
    Acquired(u64),
    /// Somebody else does, or is before it.
    Busy,
    /// It was done.
    Done,
    /// It is not known whether it was done, or is.
    Unknown(String),
}

/// Something that a client asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Call {
    /// By which session.
    pub session: String,
    /// Of which locks.
    pub names: Vec<String>,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallKind {
    /// To hold them.
    Acquire(Sharing),
    /// To hold one lock for itself, by a plain call of a session that makes one after the other.
    PlainAcquire,
    /// To cancel such a call.
    Cancel,
    /// To give back what is held with this token.
    Release(u64),
    /// To hand what is held with this token over to whoever waits first.
    Transfer(u64),
}

impl CallKind {
    /// In which way locks are to be held, if that is what was asked.
    #[must_use]
    pub fn sharing(self) -> Option<Sharing> {
        match self {
            Self::Acquire(sharing) => Some(sharing),
            Self::PlainAcquire => Some(Sharing::Exclusive),
            Self::Cancel | Self::Release(_) | Self::Transfer(_) => None,
        }
    }
}

/// A renewal of a session that was answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Renewal {
    /// The session.
    pub session: String,
    /// When it was asked for.
    pub start: Duration,
    /// For how long the session lives from then, it was answered.
    pub ttl: Duration,
}

/// A client's library said that a hold is valid. (Or that one leads a group: then the group is the lock.)
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sighting {
    /// When, at the earliest.
    pub at: Duration,
    /// Of which locks.
    pub names: Vec<String>,
    /// With which token.
    pub token: u64,
    /// With whom they are shared.
    pub sharing: Sharing,
}

/// What a member of a group was told to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The member's number.
    pub member: u64,
    /// The revision of the assignments.
    pub revision: u64,
    /// What it was told to do.
    pub assignment: String,
}

/// What a watch of everything told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Telling {
    /// How all is at this revision.
    Snapshot {
        /// All up to here is told.
        revision: u64,
        /// Lock and token of each hold.
        holders: Vec<(String, u64)>,
    },
    /// What happened in one commit, and up to where all is told.
    Events {
        /// Revision, lock and kind of each.
        events: Vec<(u64, String, Cow<'static, str>)>,
        /// All up to here is told.
        revision: u64,
    },
    /// Nothing up to this revision.
    Progress(u64),
    /// What came after is not there any more; a snapshot follows.
    Gone,
}

/// Something that a client did or saw, of all these kinds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Entry {
    /// A client asked for something, and this came of it.
    Call(Call),
    /// A server said of this session that it could not open it, and that nothing was done.
    Refused(String),
    /// A renewal was answered.
    Renewal(Renewal),
    /// A hold was valid.
    Sighting(Sighting),
    /// A member was told what to do.
    Task(Task),
    /// A watch told something.
    Told {
        /// Which one.
        watch: String,
        /// When, at the latest.
        at: Duration,
        /// What.
        telling: Telling,
    },
}

/// All that clients did and saw.
#[derive(Debug, Default)]
pub struct History {
    /// What clients asked for, as it was answered.
    pub calls: Vec<Call>,
    /// Sessions of which a server said that it could not open them, and that nothing was done.
    pub refused: Vec<String>,
    /// Renewals.
    pub renewals: Vec<Renewal>,
    /// When holds were valid.
    pub sightings: Vec<Sighting>,
    /// What members of groups were told to do.
    pub tasks: Vec<Task>,
    /// What each watch told.
    pub watches: BTreeMap<String, Vec<Telling>>,
}

impl History {
    /// Adds what was done or seen next: for a watch, the order counts.
    pub fn add(&mut self, entry: Entry) {
        match entry {
            Entry::Call(call) => self.calls.push(call),
            Entry::Refused(session) => self.refused.push(session),
            Entry::Renewal(renewal) => self.renewals.push(renewal),
            Entry::Sighting(sighting) => self.sightings.push(sighting),
            Entry::Task(task) => self.tasks.push(task),
            Entry::Told { watch, telling, .. } => self.watches.entry(watch).or_default().push(telling),
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
