//! The data types of watches.

use super::{Event, Group, GroupEvent, Lock};

/// An item of a watch.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum WatchEvent {
    /// The state of everything watched, at one revision. Comes first unless the watch was resumed, and after
    /// `HistoryGone`.
    Snapshot {
        /// The locks that are held or waited for, and those watched by name even if they are idle.
        locks: Vec<Lock>,
        /// The groups that are watched, even if they are empty.
        groups: Vec<Group>,
        /// All up to this revision has been delivered.
        revision: u64,
    },
    /// The events of one commit, and the state of the groups after it.
    Events {
        /// The events of locks, in order of revision.
        events: Vec<Event>,
        /// The events of groups, in order of revision.
        group_events: Vec<GroupEvent>,
        /// The current state of the watched groups that changed. Of events delivered late, only the last has the state
        /// of a group.
        groups: Vec<Group>,
        /// All up to this revision has been delivered.
        revision: u64,
    },
    /// There are no events of the watched locks and groups, up to this revision.
    Progress {
        /// All up to this revision has been delivered.
        revision: u64,
    },
    /// The history after the last delivered revision no longer exists. A snapshot follows.
    HistoryGone {
        /// The cause.
        cause: HistoryGoneCause,
    },
}

/// Why history is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HistoryGoneCause {
    /// It was dropped after the configured time.
    Compacted,
    /// The database lost it: a failover to a copy that was behind, or a restore.
    Lost,
    /// A cause that this version does not know.
    Unknown,
}
