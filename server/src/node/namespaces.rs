//! Opens, limits and closes the namespaces of this server.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure_core::{Rejection, Revision, Text};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::tasks::Tasks;
use crate::sequencer::{self, Namespace, Settings};
use crate::store::{Store, StoreError};
use crate::telemetry::log_throttle::LogThrottle;

/// The namespace that always exists.
const DEFAULT: &str = "default";

/// The interval at which rejected new namespaces are logged.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// The namespaces that are open or being opened.
pub struct Namespaces {
    store: Arc<dyn Store>,
    /// The common settings of their sequencers.
    settings: Settings,
    tasks: Tasks,
    /// The maximum number that requests may create.
    max: usize,
    slots: Mutex<Slots>,
    full: Mutex<LogThrottle>,
    starts: AtomicU64,
}

type Slots = HashMap<Text, Arc<Slot>>;

/// The slot of an open namespace, or of one being opened.
#[derive(Default)]
struct Slot {
    namespace: OnceCell<Namespace>,
    /// It was opened by a request that may write to it.
    is_begun: AtomicBool,
}

impl Slot {
    /// Whether it counts towards the limit; an empty namespace opened only for reading does not.
    fn counts(&self) -> bool {
        self.is_begun.load(Ordering::Relaxed) || self.namespace.get().is_some_and(|open| open.revision() > Revision(0))
    }

    /// Whether it is empty, and no request, stream or watch uses it.
    fn is_idle(self: &Arc<Self>) -> bool {
        let is_idle = |open: &Namespace| open.revision() == Revision(0) && open.is_unused();
        // Under the lock on the slots, which is held when clones are made.
        Arc::strong_count(self) == 1 && self.namespace.get().is_some_and(is_idle)
    }
}

/// A namespace being opened.
struct Wanted<'a> {
    namespaces: &'a Namespaces,
    name: &'a str,
    slot: Arc<Slot>,
}

impl Drop for Wanted<'_> {
    /// Removes the slot of a namespace that could not be opened, unless others are opening it, so that it does not
    /// count.
    fn drop(&mut self) {
        if self.slot.namespace.initialized() {
            return;
        }
        let mut slots = self.namespaces.slots();
        if Arc::strong_count(&self.slot) == 2 {
            slots.remove(self.name);
        }
    }
}

impl Namespaces {
    /// Creates an empty set.
    pub(super) fn new(store: Arc<dyn Store>, settings: Settings, tasks: Tasks, max: usize) -> Self {
        let full = Mutex::new(LogThrottle::every(LOG_INTERVAL));
        Self { store, settings, tasks, max, slots: Mutex::default(), full, starts: AtomicU64::new(0) }
    }

    /// Returns a namespace, opening it if necessary. An empty namespace is closed when it is no longer used.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn get(&self, name: &str) -> Result<Namespace, StoreError> {
        self.open(name, self.slot(name)).await
    }

    /// Returns a namespace for a request that may write to it.
    ///
    /// # Errors
    /// If it is new and the limit is reached, or if the store cannot be read.
    pub async fn get_to_fill(&self, name: &str) -> Result<Namespace, Rejection> {
        if let Some(slot) = self.slot_to_fill(name) {
            return Ok(self.open(name, slot).await?);
        }
        // Another server may have created it, or this one has not opened it yet.
        if self.store.heads().await?.iter().any(|(known, _)| **known == *name) {
            return Ok(self.get(name).await?);
        }
        if self.full.lock().unwrap_or_else(PoisonError::into_inner).on_error(Instant::now()) {
            tracing::warn!(
                max_namespaces = self.max,
                "new namespaces are rejected: raise max_namespaces, or restrict who may create them"
            );
        }
        Err(Rejection::LimitReached { limit: "namespaces", bound: self.max })
    }

    /// The open namespaces.
    #[must_use]
    pub fn all(&self) -> Vec<Namespace> {
        self.slots().values().filter_map(|slot| slot.namespace.get().cloned()).collect()
    }

    /// Opens all namespaces in the store.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn open_all(&self) -> Result<(), StoreError> {
        for (name, _) in self.store.heads().await? {
            self.get(&name).await?;
        }
        Ok(())
    }

    /// Closes empty namespaces that are not used. Call this periodically.
    pub(crate) fn close_idle(&self) {
        close_idle(&mut self.slots());
    }

    async fn open(&self, name: &str, slot: Arc<Slot>) -> Result<Namespace, StoreError> {
        let wanted = Wanted { namespaces: self, name, slot };
        // Boxed to keep the future small for callers that find the namespace open, which are all but one.
        Ok(wanted.slot.namespace.get_or_try_init(|| Box::pin(self.start(name))).await?.clone())
    }

    /// The slot of a namespace. The lock is not held while the namespace is loaded.
    fn slot(&self, name: &str) -> Arc<Slot> {
        let mut slots = self.slots();
        if let Some(found) = slots.get(name) {
            return found.clone();
        }
        close_idle(&mut slots);
        slots.entry(name.into()).or_default().clone()
    }

    /// The slot for a request that may write. `None`: the namespace is new, and the limit is reached.
    fn slot_to_fill(&self, name: &str) -> Option<Arc<Slot>> {
        let mut slots = self.slots();
        if let Some(found) = slots.get(name).filter(|found| found.counts()) {
            return Some(found.clone());
        }
        close_idle(&mut slots);
        let is_full = || slots.values().filter(|slot| slot.counts()).count() >= self.max;
        if name != DEFAULT && is_full() {
            return None;
        }
        let slot = slots.entry(name.into()).or_default().clone();
        slot.is_begun.store(true, Ordering::Relaxed);
        Some(slot)
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn start(&self, name: &str) -> Result<Namespace, StoreError> {
        let first_number = self.starts.fetch_add(1, Ordering::Relaxed) << 32;
        let settings = Settings { first_number, ..self.settings.clone() };
        let (namespace, running) = sequencer::start(name.into(), self.store.clone(), settings).await?;
        self.tasks.watch_over(running);
        Ok(namespace)
    }
}

fn close_idle(slots: &mut Slots) {
    slots.retain(|name, slot| **name == *DEFAULT || !slot.is_idle());
}
