//! Reads and encodes snapshots: everything that a watch selects, in parts of bounded size.
//!
//! A part is read and encoded when the reader of the watch takes it, so a slow reader keeps no snapshot in memory, and
//! other work runs between the parts. Locks change in between: those already sent are sent again, until the last part,
//! when the sum of all parts is the state at its revision.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::sync::Arc;

use bytes::Bytes;
use prost::Message;
use tenure_core::{DeadlockSearch, Rejection, Revision, Text};
use tenure_proto::v1;
use tenure_proto::v1::watch_response::Kind;
use tokio::sync::Semaphore;
use tokio_util::task::AbortOnDropHandle;

use super::encode::{PendingGroups, message, take_groups};
use crate::grpc::views::LockView;
use crate::limits;
use crate::sequencer::{Namespace, View};
use crate::store::Batch;
use crate::watch::{Filter, Hub};

/// Number of events examined while the table is read. A snapshot that has missed more reads the log first.
const EVENTS: usize = 1_000;

/// Limits the number of parts made at a time to half of the processors: responses are more urgent than snapshots.
#[derive(Clone)]
pub(in crate::grpc) struct SnapshotPermits(Arc<Semaphore>);

impl Default for SnapshotPermits {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self(Arc::new(Semaphore::new((processors / 2).max(1))))
    }
}

impl SnapshotPermits {
    /// Makes the next part of a snapshot when a permit is free. Runs in its own task: a reader may stop reading at any
    /// time, and the permit must be returned.
    pub(super) fn make(
        &self,
        namespace: Namespace,
        filter: Arc<Filter>,
        snapshot: Snapshot,
    ) -> AbortOnDropHandle<Result<Result<EncodedPart, Missed>, Rejection>> {
        let permits = self.0.clone();
        AbortOnDropHandle::new(tokio::spawn(async move {
            // The semaphore is never closed.
            let _permit = permits.acquire().await;
            let hub = namespace.hub().clone();
            let read = namespace.view(move |view| snapshot.read_part(&filter, view, &hub)).await?;
            Ok(read.map(|(snapshot, part)| part.encoded(snapshot)))
        }))
    }
}

/// A part, as of a revision. The groups that did not fit into the last part follow it.
pub(super) struct EncodedPart {
    pub(super) snapshot: Snapshot,
    pub(super) revision: Revision,
    pub(super) groups: Option<PendingGroups>,
    pub(super) bytes: Bytes,
}

/// Why no part is available now.
pub(super) enum Missed {
    /// The log has changes that the snapshot does not know: they must be [noted](Snapshot::note) first.
    Behind,
    /// The changes since the parts were sent are no longer known. The snapshot must restart, and its reader must
    /// discard its state: a lock that is idle by now would not be sent again.
    Gone(v1::HistoryGoneCause),
}

/// A snapshot that is being sent.
#[derive(Clone)]
pub(super) struct Snapshot {
    sent: Sent,
    /// Locks that have changed since they were sent, and selected names still to be sent.
    changed: BTreeSet<Text>,
    /// The revision of the log up to which changes are known. `None` before the first part.
    pub(super) revision: Option<Revision>,
}

/// Progress, in byte order, through the locks selected by prefixes.
#[derive(Clone)]
enum Sent {
    None,
    UpTo(Text),
    All,
}

impl Sent {
    fn includes(&self, name: &str) -> bool {
        match self {
            Self::None => false,
            Self::UpTo(last) => name <= &**last,
            Self::All => true,
        }
    }
}

/// The content of a part.
struct Part {
    revision: Revision,
    locks: Vec<LockView>,
    /// All groups, if this is the last part with locks.
    groups: Option<PendingGroups>,
}

impl Snapshot {
    /// A snapshot of which nothing has been sent.
    pub(super) fn new(filter: &Filter) -> Self {
        let changed = filter.names.iter().map(|name| name.as_str().into()).collect();
        Self { sent: Sent::None, changed, revision: None }
    }

    /// Notes the changes in the next batch of the log.
    ///
    /// # Errors
    /// If history was lost, or if the changes exceed [`limits::WATCH_CHANGED`].
    pub(super) fn note(&mut self, batch: &Batch, filter: &Filter) -> Result<(), Missed> {
        if batch.declares_loss() {
            return Err(Missed::Gone(v1::HistoryGoneCause::Lost));
        }
        let is_sent =
            |name: &&Text| filter.names.contains(&***name) || self.sent.includes(name) && filter.matches(name);
        let changed = batch.events.iter().flat_map(|recorded| recorded.event.locks());
        self.changed.extend(changed.filter(is_sent).cloned());
        self.revision = Some(batch.revision());
        let bytes: usize = self.changed.iter().map(|name| name.len()).sum();
        if bytes > limits::WATCH_CHANGED { Err(Missed::Gone(v1::HistoryGoneCause::Compacted)) } else { Ok(()) }
    }

    /// Reads the next part. `Err` if none is available now.
    fn read_part(mut self, filter: &Filter, view: &View<'_>, hub: &Hub) -> Result<(Self, Part), Missed> {
        let revision = view.table.revision();
        if let Some(known) = self.revision {
            let since = hub.after(known, &BTreeSet::new(), EVENTS).ok_or(Missed::Behind)?;
            since.batches.iter().try_for_each(|batch| self.note(batch, filter))?;
        }
        if self.revision.is_some_and(|known| known != revision) {
            return Err(Missed::Behind);
        }
        self.revision = Some(revision);
        let mut search = DeadlockSearch::default();
        let (mut locks, mut bytes) = (Vec::new(), 0);
        let mut add = |lock: LockView| {
            bytes += lock.bytes();
            locks.push(lock);
            bytes < limits::WATCH_MESSAGE
        };
        let mut has_room = true;
        if !matches!(self.sent, Sent::All) {
            let after = match &self.sent {
                Sent::UpTo(last) => Some(last.clone()),
                Sent::None | Sent::All => None,
            };
            let mut selected =
                filter.prefixes.iter().flat_map(|prefix| view.table.locks_after(prefix, after.as_deref()));
            self.sent = loop {
                let Some((name, lock)) = selected.next() else { break Sent::All };
                has_room = add(LockView::of(name, Some(lock), view, &mut search));
                if !has_room {
                    break Sent::UpTo(name.clone());
                }
            };
        }
        while has_room && let Some(name) = self.changed.pop_first() {
            has_room = add(LockView::named(&name, view, &mut search));
        }
        let is_last = matches!(self.sent, Sent::All) && self.changed.is_empty();
        let all = || filter.groups.iter().map(|name| (name.clone(), view.table.group(name).cloned())).collect();
        let groups = is_last.then(all);
        Ok((self, Part { revision, locks, groups }))
    }
}

impl Part {
    fn encoded(self, snapshot: Snapshot) -> EncodedPart {
        let Self { revision, locks, mut groups } = self;
        let locks: Vec<v1::Lock> = locks.into_iter().map(v1::Lock::from).collect();
        let bytes = locks.iter().map(Message::encoded_len).sum();
        let fitting = groups.as_mut().map(|groups| take_groups(groups, bytes)).unwrap_or_default();
        let more = groups.as_ref().is_none_or(|groups| !groups.is_empty());
        let bytes = message(revision, Kind::Snapshot(v1::Snapshot { locks, more, groups: fitting }));
        EncodedPart { snapshot, revision, groups, bytes }
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::{Event, Eviction, LockSettings, Recorded, ServerId};

    use super::*;

    fn batch(event: Event) -> Batch {
        let (revision, namespace, server) = (Revision(1), "default".into(), ServerId(1));
        let events = vec![Recorded { revision, event }];
        Batch { namespace, previous: Revision(0), events, server, number: 1, at_ms: 0 }
    }

    fn changed(name: &str) -> Batch {
        let by = Eviction { operator: "ann".into(), note: "".into() };
        batch(Event::LockConfigured { name: name.into(), settings: LockSettings::default(), by })
    }

    #[test]
    fn only_names_that_were_sent_are_noted_as_changed() {
        let filter = Filter { names: ["z".to_owned()].into(), prefixes: ["a".to_owned()].into(), ..Filter::default() };
        let mut snapshot = Snapshot { sent: Sent::UpTo("am".into()), changed: BTreeSet::new(), revision: None };
        for name in ["ab", "am", "an", "b", "z"] {
            assert!(snapshot.note(&changed(name), &filter).is_ok());
        }
        assert_eq!(snapshot.changed, ["ab", "am", "z"].map(Text::from).into());
    }

    #[test]
    fn snapshot_begins_anew_when_more_has_changed_than_is_noted() {
        let filter = Filter { prefixes: [String::new()].into(), ..Filter::default() };
        let mut snapshot = Snapshot { sent: Sent::All, changed: BTreeSet::new(), revision: None };
        let name = |number| format!("{number:0>255}");
        let noted = (0..1_000).take_while(|number| snapshot.note(&changed(&name(*number)), &filter).is_ok());
        assert_eq!(noted.count(), limits::WATCH_CHANGED / 255);
        let lost = Snapshot::new(&filter).note(&batch(Event::HistoryLost { after: Revision(0) }), &filter);
        assert!(matches!(lost, Err(Missed::Gone(v1::HistoryGoneCause::Lost))));
    }
}
