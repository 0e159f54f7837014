//! The watch hub: the newest part of a namespace's history, in memory, for everybody who watches.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenure_core::Revision;
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
}

impl Default for Hub {
    fn default() -> Self {
        Self { recent: Mutex::default(), head: watch::channel(Revision(0)).0 }
    }
}

impl Hub {
    /// Adds a committed batch, which follows the one before, and wakes the watchers.
    pub fn publish(&self, batch: Arc<Batch>) {
        let revision = batch.revision();
        let mut recent = self.lock();
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

    /// Begins anew at a revision: what came before can only be read from the store.
    pub fn reset(&self, revision: Revision) {
        *self.lock() = Recent { start: revision, ..Recent::default() };
        self.head.send_replace(revision);
    }

    /// The batches after a revision (whole ones, also if the revision is inside the first), or `None` if some of them are
    /// no longer in memory.
    #[must_use]
    pub fn after(&self, revision: Revision) -> Option<Vec<Arc<Batch>>> {
        let recent = self.lock();
        if revision < recent.start {
            return None;
        }
        let first = recent.batches.partition_point(|batch| batch.revision() <= revision);
        Some(recent.batches.range(first..).cloned().collect())
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
