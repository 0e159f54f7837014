//! The watch hub: the newest part of a namespace's history, in memory, for everybody who watches.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenure_core::{Event, Group, Revision, Table, Text};
use tokio::sync::watch;

use crate::store::Batch;

/// How many events are kept in memory. A watcher that is further behind reads from the store, so memory stays bounded.
const EVENTS: usize = 16_384;

/// The newest committed batches of a namespace. Watchers pull from it at their own pace, so a slow one slows nobody.
pub struct Hub {
    recent: Mutex<Recent>,
    head: watch::Sender<Revision>,
}

#[derive(Default)]
struct Recent {
    /// All batches after this revision are in `batches`.
    start: Revision,
    batches: VecDeque<Arc<Batch>>,
    events: usize,
    /// Every group, as it is after the last of the batches.
    groups: HashMap<Text, Arc<Group>>,
}

/// What has happened after some revision, up to the head.
#[derive(Debug, Default)]
pub struct Since {
    /// The batches: whole ones, also if the revision is inside the first.
    pub batches: Vec<Arc<Batch>>,
    /// The groups that were asked for, as they are after the last of the batches.
    pub groups: BTreeMap<String, Option<Arc<Group>>>,
}

impl Default for Hub {
    fn default() -> Self {
        Self { recent: Mutex::default(), head: watch::channel(Revision(0)).0 }
    }
}

impl Hub {
    /// Adds a committed batch, which follows the one before, and wakes the watchers. `table` shows the state after it.
    pub fn publish(&self, batch: Arc<Batch>, table: &Table) {
        let revision = batch.revision();
        let mut recent = self.lock();
        for recorded in &batch.events {
            if let Event::Group { group, .. } = &recorded.event {
                recent.put_group(group, table.group(group));
            }
        }
        recent.events += batch.events.len();
        recent.batches.push_back(batch);
        while recent.events > EVENTS && recent.batches.len() > 1 {
            if let Some(oldest) = recent.batches.pop_front() {
                recent.events -= oldest.events.len();
                recent.start = oldest.revision();
            }
        }
        drop(recent);
        self.head.send_replace(revision);
    }

    /// Begins anew with a table: what came before can only be read from the store.
    pub fn reset(&self, table: &Table) {
        let groups = table.groups_after("", None).map(|group| (group.name.clone(), group.clone())).collect();
        *self.lock() = Recent { start: table.revision(), groups, ..Recent::default() };
        self.head.send_replace(table.revision());
    }

    /// What has happened after a revision, with these groups, or `None` if some of it is no longer in memory.
    #[must_use]
    pub fn after(&self, revision: Revision, groups: &BTreeSet<String>) -> Option<Since> {
        let recent = self.lock();
        if revision < recent.start {
            return None;
        }
        let first = recent.batches.partition_point(|batch| batch.revision() <= revision);
        let group = |name: &String| (name.clone(), recent.groups.get(name.as_str()).cloned());
        Some(Since {
            batches: recent.batches.range(first..).cloned().collect(),
            groups: groups.iter().map(group).collect(),
        })
    }

    /// The namespace's revision as this server knows it, and its changes.
    #[must_use]
    pub fn head(&self) -> watch::Receiver<Revision> {
        self.head.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recent {
    fn put_group(&mut self, name: &Text, group: Option<&Arc<Group>>) {
        match group {
            Some(group) => self.groups.insert(name.clone(), group.clone()),
            None => self.groups.remove(name),
        };
    }
}
