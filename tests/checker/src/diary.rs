//! What all programs of a run did and saw.

use std::sync::{Arc, Mutex, PoisonError};

use crate::history::{Entry, History};

/// A history that is being written. Clones write into the same one.
#[derive(Clone, Debug, Default)]
pub struct Diary(Arc<Mutex<History>>);

impl Diary {
    /// Writes.
    pub fn write(&self, entry: Entry) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(entry);
    }

    /// What was written.
    #[must_use]
    pub fn take(&self) -> History {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
