//! The newest committed batches of a namespace, in memory.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use tenure_core::{Event, Group, Revision, Table, Text};

use crate::limits;
use crate::store::Batch;

/// Maximum events kept in memory. Watchers that are further behind read from the store, so memory stays bounded.
const EVENTS: usize = 16_384;

/// Maximum events while there are no watches, and their part of [`limits::LOG`]: enough for watchers that reconnect.
/// More would only evict data in use from the processor's caches.
const UNWATCHED: usize = 4_096;
const UNWATCHED_BYTES: usize = limits::LOG / 4;

#[derive(Default)]
pub(super) struct Log {
    /// `batches` has every batch after this revision.
    start: Revision,
    batches: VecDeque<Arc<Batch>>,
    events: usize,
    bytes: usize,
    /// Every group, as of the last batch.
    groups: HashMap<Text, Arc<Group>>,
    /// How often the log was reset, or history was lost.
    beginnings: u64,
}

/// How far the log has been read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) revision: Revision,
    beginnings: u64,
}

/// Events after a given revision.
#[derive(Debug, Default)]
pub struct Since {
    /// Whole batches, even if the revision is inside the first.
    pub batches: Vec<Arc<Batch>>,
    /// Groups as of the last batch, if known.
    pub groups: BTreeMap<String, Option<Arc<Group>>>,
}

impl Log {
    pub(super) fn anew(&mut self, table: &Table) {
        let (start, beginnings) = (table.revision(), self.beginnings + 1);
        *self = Self { start, groups: all_groups(table), beginnings, ..Self::default() };
    }

    /// Appends a batch that follows the previous one. `table` shows the state after it.
    pub(super) fn push(&mut self, batch: Arc<Batch>, table: &Table, is_watched: bool) {
        let (most, most_bytes) = if is_watched { (EVENTS, limits::LOG) } else { (UNWATCHED, UNWATCHED_BYTES) };
        for recorded in &batch.events {
            if let Event::Group { group, .. } = &recorded.event {
                match table.group(group) {
                    Some(found) => self.groups.insert(group.clone(), found.clone()),
                    None => self.groups.remove(group),
                };
            }
        }
        if batch.declares_loss() {
            // Earlier reads may be void.
            self.beginnings += 1;
            self.groups = all_groups(table);
        }
        self.events += batch.events.len();
        self.bytes += batch.bytes();
        self.batches.push_back(batch);
        while (self.events > most || self.bytes > most_bytes) && self.batches.len() > 1 {
            if let Some(oldest) = self.batches.pop_front() {
                self.events -= oldest.events.len();
                self.bytes -= oldest.bytes();
                self.start = oldest.revision();
            }
        }
    }

    pub(super) fn position(&self) -> Position {
        let revision = self.batches.back().map_or(self.start, |last| last.revision());
        Position { revision, beginnings: self.beginnings }
    }

    /// How often the log was reset: a reset may void earlier reads of the store.
    pub(super) fn beginnings(&self) -> u64 {
        self.beginnings
    }

    /// Returns about `events` events after a revision, and these groups if no events were left out. `None` if some of
    /// it is no longer in memory.
    pub(super) fn after(&self, revision: Revision, groups: &BTreeSet<String>, events: usize) -> Option<Since> {
        if revision < self.start {
            return None;
        }
        let first = self.batches.partition_point(|batch| batch.revision() <= revision);
        let mut taken = 0;
        let within = |batch: &&Arc<Batch>| {
            let more = taken < events;
            taken += batch.events.len();
            more
        };
        let batches: Vec<Arc<Batch>> = self.batches.range(first..).take_while(within).cloned().collect();
        let is_all = first + batches.len() == self.batches.len();
        let groups = groups.iter().filter(|_| is_all).map(|name| self.group(name)).collect();
        Some(Since { batches, groups })
    }

    /// Returns all events after a position, with every group that they changed. `None` if the log was reset since, or
    /// some of it is no longer in memory.
    pub(super) fn news(&self, after: Position) -> Option<Since> {
        if after.beginnings != self.beginnings {
            return None;
        }
        let mut since = self.after(after.revision, &BTreeSet::new(), usize::MAX)?;
        for recorded in since.batches.iter().flat_map(|batch| &batch.events) {
            if let Event::Group { group, .. } = &recorded.event {
                since.groups.extend([self.group(group)]);
            }
        }
        Some(since)
    }

    fn group(&self, name: &str) -> (String, Option<Arc<Group>>) {
        (name.to_owned(), self.groups.get(name).cloned())
    }
}

fn all_groups(table: &Table) -> HashMap<Text, Arc<Group>> {
    table.groups_after("", None).map(|group| (group.name.clone(), group.clone())).collect()
}
