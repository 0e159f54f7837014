//! The watch hub: keeps the newest part of a namespace's history in memory, and delivers it to watchers.
//!
//! A committer only appends to the log. One task, the fan-out, finds the matching subscriptions: watchers of the same
//! filter share one, so an event is encoded once for all of them. Each reader takes from it at its own pace, and one
//! that falls behind continues from the log, so a slow reader delays no other.

mod fan_out;
mod filter;
mod index;
mod log;
mod reader;
mod subscription;
mod watchers;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenure_core::{Revision, Table};
use tokio::sync::watch;

use crate::limits::Budget;
use crate::store::Batch;
pub use fan_out::{Encoded, Encoder, FanOut, Groups, last_changes};
pub use filter::Filter;
use index::Index;
use log::Log;
pub use log::Since;
pub use reader::{Reader, Received};
pub(crate) use watchers::Watchers;

/// The newest committed batches of a namespace, and its watchers.
pub struct Hub {
    log: Mutex<Log>,
    head: watch::Sender<Revision>,
    index: Mutex<Index>,
    /// Bounds the messages for lagging readers.
    budget: Budget,
    draining: AtomicBool,
    over: AtomicBool,
}

impl Hub {
    /// A hub with an empty log, which charges messages for lagging readers to this budget.
    pub(crate) fn new(budget: Budget) -> Self {
        Self {
            log: Mutex::default(),
            head: watch::channel(Revision(0)).0,
            index: Mutex::default(),
            budget,
            draining: AtomicBool::new(false),
            over: AtomicBool::new(false),
        }
    }

    /// Appends a committed batch, which follows the previous one. `table` shows the state after it.
    pub fn publish(&self, batch: Arc<Batch>, table: &Table) {
        let revision = batch.revision();
        let is_watched = self.index().is_attended;
        self.log().push(batch, table, is_watched);
        self.head.send_replace(revision);
    }

    /// Restarts the log at the state of a table: earlier events can only be read from the store.
    pub fn reset(&self, table: &Table) {
        self.log().anew(table);
        self.head.send_replace(table.revision());
    }

    /// Returns about `events` events after a revision, and these groups if no events were left out. `None` if some of
    /// it is no longer in memory.
    #[must_use]
    pub fn after(&self, revision: Revision, groups: &BTreeSet<String>, events: usize) -> Option<Since> {
        self.log().after(revision, groups, events)
    }

    /// How often the log was reset here: a reset may void earlier reads of the store.
    pub(crate) fn beginnings(&self) -> u64 {
        self.log().beginnings()
    }

    /// The namespace's revision as this server knows it, and its changes.
    #[must_use]
    pub fn head(&self) -> watch::Receiver<Revision> {
        self.head.subscribe()
    }

    /// Whether the server is draining: plain watches should move to another server.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
