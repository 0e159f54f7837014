//! A watch that encodes its own messages instead of sharing those of other watches: it has just started, or its reader
//! is slow. It encodes one message at a time, when its reader takes more.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use prost::Message;
use tenure_core::{Event, Rejection, Revision};
use tenure_proto::v1;
use tenure_proto::v1::watch_response::Kind;

use super::encode::{PendingGroups, events_after, message, put, take_groups};
use super::snapshot::{EncodedPart, Missed, Snapshot, SnapshotPermits};
use crate::limits;
use crate::sequencer::Namespace;
use crate::store::log_reader::LogError;
use crate::store::{Batch, StoreError};
use crate::watch::{Filter, Groups, Since, last_changes};

/// Number of events read from history at a time.
const HISTORY: usize = 1_000;

/// Delay before a failed read is retried.
const RETRY: Duration = Duration::from_millis(200);

/// State of a watch that encodes its own messages.
pub(super) struct Behind {
    namespace: Namespace,
    filter: Arc<Filter>,
    permits: SnapshotPermits,
    /// Everything up to this revision has been sent.
    pub(super) cursor: Revision,
    /// The snapshot that is being sent.
    snapshot: Option<Snapshot>,
    /// The part of the log that was read and is still to be sent.
    read: Read,
    /// Groups in their state at the cursor, still to be sent: with the snapshot, if there is one.
    pending: PendingGroups,
    /// Groups that have changed since their state was last sent.
    unsent_groups: BTreeSet<String>,
    /// Whether the last read of the log found nothing new.
    caught_up: bool,
}

/// A piece of the log.
#[derive(Default)]
struct Read {
    batches: VecDeque<Arc<Batch>>,
    /// The groups whose last known change is in a batch, in their state after it.
    changes: BTreeMap<Revision, Groups>,
    /// Groups in their state after the last batch, if known.
    groups: Groups,
}

impl From<Since> for Read {
    /// Keeps at most about [`limits::WATCH_READ`] bytes.
    fn from(Since { mut batches, mut groups }: Since) -> Self {
        let mut bytes = 0;
        let fits = batches.iter().take_while(|batch| {
            let fits = bytes < limits::WATCH_READ;
            bytes += batch.bytes();
            fits
        });
        let fits = fits.count();
        if fits < batches.len() {
            batches.truncate(fits);
            groups.clear();
        }
        let changes = last_changes(&batches, &groups);
        Self { batches: batches.into(), changes, groups }
    }
}

/// This server has no more events for the watch.
pub(super) struct Over;

impl Behind {
    /// A new watch: starts with a snapshot, or after the revision at which its reader resumes.
    pub(super) fn new(namespace: Namespace, filter: Arc<Filter>, permits: SnapshotPermits, cursor: Revision) -> Self {
        let snapshot = (cursor == Revision(0)).then(|| Snapshot::new(&filter));
        // A reader that resumes knows the events up to that revision, but not necessarily the state of the groups.
        let unsent_groups = filter.groups.clone();
        let (read, pending) = (Read::default(), PendingGroups::new());
        Self { namespace, filter, permits, cursor, snapshot, read, pending, unsent_groups, caught_up: false }
    }

    /// Continues the watch after `cursor`: its reader has missed shared messages since.
    pub(super) fn since(self, cursor: Revision) -> Self {
        Self { cursor, caught_up: false, ..self }
    }

    /// Whether everything that was read or is unsent_groups has been sent.
    pub(super) fn has_sent_all(&self) -> bool {
        self.snapshot.is_none()
            && self.read.batches.is_empty()
            && self.pending.is_empty()
            && self.unsent_groups.is_empty()
    }

    /// Encodes the next messages. If there are none, waits until there is a reason to look again and returns `None`.
    pub(super) async fn go_on(mut self: Box<Self>) -> (Self, Result<Option<Bytes>, Over>) {
        let namespace = self.namespace.clone();
        let next = tokio::select! {
            next = self.next() => next,
            () = namespace.ended() => Err(Over),
        };
        (*self, next)
    }

    async fn next(&mut self) -> Result<Option<Bytes>, Over> {
        if !self.pending.is_empty() {
            return Ok(Some(self.next_groups()));
        }
        if let Some(snapshot) = self.snapshot.clone() {
            return self.next_part(snapshot).await;
        }
        if self.read.batches.is_empty() {
            let mut head = self.namespace.hub().head();
            head.mark_unchanged();
            match self.read_after(self.cursor).await {
                Ok(read) => self.read = read,
                Err(LogError::Store(StoreError::Compacted(_))) => {
                    return Ok(Some(self.begin_anew(v1::HistoryGoneCause::Compacted)));
                }
                Err(error) => {
                    tracing::debug!(%error, "a watch cannot read history");
                    tokio::time::sleep(RETRY).await;
                    return Ok(None);
                }
            }
            let was_caught_up = std::mem::replace(&mut self.caught_up, self.read.batches.is_empty());
            if self.caught_up && was_caught_up {
                // The timeout is short because the fan-out may be only a moment behind.
                let _ = tokio::time::timeout(RETRY, head.changed()).await;
            }
        }
        Ok(self.next_events())
    }

    /// Reads the log after a revision, from memory or else from history.
    async fn read_after(&self, revision: Revision) -> Result<Read, LogError> {
        let since = match self.namespace.hub().after(revision, &self.filter.groups, HISTORY) {
            Some(since) => since,
            // History does not contain the state of the groups: it is sent when the reader has caught up.
            None => Since { batches: self.namespace.read_log(revision, HISTORY).await?, ..Since::default() },
        };
        Ok(since.into())
    }

    /// Encodes the events that were read, and after the last of them the groups that are unsent_groups.
    fn next_events(&mut self) -> Option<Bytes> {
        let mut wire = BytesMut::new();
        while wire.len() < limits::WATCH_MESSAGE
            && self.pending.is_empty()
            && let Some(batch) = self.read.batches.front().cloned()
        {
            if batch.events.iter().any(|recorded| matches!(recorded.event, Event::HistoryLost { .. })) {
                if wire.is_empty() {
                    return Some(self.begin_anew(v1::HistoryGoneCause::Lost));
                }
                break;
            }
            let (mut message, reached) = events_after(self.cursor, &batch, &self.filter);
            self.cursor = reached;
            self.unsent_groups.extend(message.group_events.iter().map(|event| event.group.clone()));
            if reached == batch.revision() {
                self.read.batches.pop_front();
                let known = self.read.changes.remove(&reached).unwrap_or_default();
                self.take_owed(&known);
                message.groups = take_groups(&mut self.pending, message.encoded_len());
            }
            if message != v1::Events::default() {
                put(&mut wire, reached, Kind::Events(message));
            }
        }
        if self.read.batches.is_empty() && self.pending.is_empty() {
            let known = std::mem::take(&mut self.read.groups);
            self.take_owed(&known);
            if !self.pending.is_empty() && wire.len() < limits::WATCH_MESSAGE {
                wire.extend_from_slice(&self.next_groups());
            }
        }
        (!wire.is_empty()).then(|| wire.freeze())
    }

    /// Moves unsent_groups groups whose state is known to `pending`.
    fn take_owed(&mut self, known: &Groups) {
        self.unsent_groups.retain(|name| match known.get(name) {
            Some(group) => {
                self.pending.push_back((name.clone(), group.clone()));
                false
            }
            None => true,
        });
    }

    /// Encodes the next message of groups.
    fn next_groups(&mut self) -> Bytes {
        let groups = take_groups(&mut self.pending, 0);
        if self.snapshot.is_none() {
            return message(self.cursor, Kind::Events(v1::Events { groups, ..v1::Events::default() }));
        }
        let more = !self.pending.is_empty();
        if !more {
            self.snapshot = None;
        }
        message(self.cursor, Kind::Snapshot(v1::Snapshot { groups, more, ..v1::Snapshot::default() }))
    }

    /// Notifies the reader that history is gone, and restarts with a snapshot.
    fn begin_anew(&mut self, cause: v1::HistoryGoneCause) -> Bytes {
        self.snapshot = Some(Snapshot::new(&self.filter));
        self.read = Read::default();
        message(self.cursor, Kind::HistoryGone(v1::HistoryGone { cause: cause.into() }))
    }

    /// Encodes the next part of a snapshot. `None` if the changes since the last part must be read first.
    async fn next_part(&mut self, snapshot: Snapshot) -> Result<Option<Bytes>, Over> {
        match self.permits.make(self.namespace.clone(), self.filter.clone(), snapshot).await {
            Ok(Ok(Ok(EncodedPart { snapshot, revision, groups, bytes }))) => {
                self.snapshot = Some(snapshot);
                // Groups are sent in their state at the last part.
                if let Some(groups) = groups {
                    self.cursor = revision;
                    self.unsent_groups.clear();
                    self.pending = groups;
                    self.snapshot.take_if(|_| self.pending.is_empty());
                }
                Ok(Some(bytes))
            }
            Ok(Ok(Err(Missed::Behind))) => Ok(self.catch_up().await),
            Ok(Ok(Err(Missed::Gone(cause)))) => Ok(Some(self.begin_anew(cause))),
            Ok(Err(Rejection::Draining)) | Err(_) => Err(Over),
            Ok(Err(error)) => {
                tracing::debug!(%error, "a watch cannot read a snapshot");
                tokio::time::sleep(RETRY).await;
                Ok(None)
            }
        }
    }

    /// Notes changes in the snapshot. Notifies the reader if they are no longer known.
    async fn catch_up(&mut self) -> Option<Bytes> {
        let known = self.snapshot.as_ref()?.revision.unwrap_or_default();
        let noted = match self.read_after(known).await {
            Ok(Read { batches, .. }) if !batches.is_empty() => {
                let snapshot = self.snapshot.as_mut()?;
                batches.iter().try_for_each(|batch| snapshot.note(batch, &self.filter))
            }
            Err(LogError::Store(StoreError::Compacted(_))) => Err(Missed::Gone(v1::HistoryGoneCause::Compacted)),
            waiting => {
                if let Err(error) = waiting {
                    tracing::debug!(%error, "a watch cannot read the changes since its snapshot began");
                }
                tokio::time::sleep(RETRY).await;
                Ok(())
            }
        };
        match noted {
            Err(Missed::Gone(cause)) => Some(self.begin_anew(cause)),
            Ok(()) | Err(Missed::Behind) => None,
        }
    }
}
