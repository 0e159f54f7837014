//! Watching who holds what, as it changes.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::sync::mpsc;
use tokio_stream::{Stream, StreamExt};

use crate::convert::same_variants;
use crate::error::Result;
use crate::group::{Group, GroupEvent};
use crate::link::{Note, Remote, WatchKey};
use crate::model::{Event, Lock};

/// What to watch. With neither names nor prefixes nor groups: all locks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchOptions {
    pub(crate) names: Vec<String>,
    pub(crate) prefixes: Vec<String>,
    pub(crate) groups: Vec<String>,
    pub(crate) after_revision: u64,
}

impl WatchOptions {
    /// All locks of the namespace.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// Locks by name: at most 100.
    #[must_use]
    pub fn names(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { names: names.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// One lock more.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.names.push(name.into());
        self
    }

    /// The locks whose names begin with this, besides the others: at most 100 prefixes.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefixes.push(prefix.into());
        self
    }

    /// Groups by name: at most 100. Only these: no locks unless they are added.
    #[must_use]
    pub fn groups(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { groups: names.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// One group more.
    #[must_use]
    pub fn group(mut self, name: impl Into<String>) -> Self {
        self.groups.push(name.into());
        self
    }

    /// Begin with the events after this revision instead of a snapshot: the last revision that an earlier watch
    /// delivered.
    #[must_use]
    pub fn after_revision(self, revision: u64) -> Self {
        Self { after_revision: revision, ..self }
    }
}

/// An item of a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WatchEvent {
    /// Everything that is watched, as it is at one revision. Comes first unless the watch was resumed, and after
    /// `HistoryGone`.
    Snapshot {
        /// The locks that are held or waited for, and those watched by name even if they are idle.
        locks: Vec<Lock>,
        /// The groups that are watched, even if they are empty.
        groups: Vec<Group>,
        /// All up to this revision has been delivered.
        revision: u64,
    },
    /// What happened in one commit, and how groups are after it.
    Events {
        /// What happened to locks, in order of revision.
        events: Vec<Event>,
        /// What happened to groups, in order of revision.
        group_events: Vec<GroupEvent>,
        /// The watched groups that changed, as they are now. Of events delivered late, only the last
        /// has the state of a group.
        groups: Vec<Group>,
        /// All up to this revision has been delivered.
        revision: u64,
    },
    /// Nothing happened to what is watched, up to this revision.
    Progress {
        /// All up to this revision has been delivered.
        revision: u64,
    },
    /// The history after the last delivered revision is not there any more. A snapshot follows.
    HistoryGone {
        /// Why.
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

same_variants!(HistoryGoneCause => HistoryGoneCause: Compacted, Lost);

/// A stream of what happens: each revision once and in order, across reconnects. It ends when the client is closed, and with
/// an error that trying again cannot cure, after the error has been delivered.
///
/// A reader that is slow loses nothing: the server is asked again from where the reader is.
#[derive(Debug)]
pub struct Watch {
    pub(crate) key: WatchKey,
    pub(crate) items: mpsc::Receiver<Result<WatchEvent>>,
    /// Set by the connection when it stopped the watch because this reader was behind.
    pub(crate) paused: Arc<AtomicBool>,
    pub(crate) remote: Remote,
}

impl Watch {
    /// The next item; `None` after the watch has ended.
    pub async fn next(&mut self) -> Option<Result<WatchEvent>> {
        StreamExt::next(self).await
    }
}

impl Stream for Watch {
    type Item = Result<WatchEvent>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let item = self.items.poll_recv(context);
        if item.is_ready() && self.items.is_empty() && self.paused.swap(false, Ordering::SeqCst) {
            self.remote.note(Note::WatchDrained { watch: self.key });
        }
        item
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.remote.note(Note::WatchDropped { watch: self.key });
    }
}
