//! Collects the history of a run from all of its programs.

use std::sync::{Arc, Mutex, PoisonError};

use crate::history::{Entry, History};

/// A history under construction. Clones write to the same history.
#[derive(Clone, Debug, Default)]
pub struct Recorder(Arc<Mutex<History>>);

impl Recorder {
    /// Appends an entry.
    pub fn write(&self, entry: Entry) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(entry);
    }

    /// Takes the history.
    #[must_use]
    pub fn take(&self) -> History {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
