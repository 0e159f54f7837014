//! What is under way, and can be cancelled.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// The requests under way, by their ids.
#[derive(Default)]
pub(crate) struct Running {
    requests: Mutex<HashMap<u64, oneshot::Sender<()>>>,
}

impl Running {
    /// What tells that the request is cancelled.
    pub(crate) fn begin(&self, id: u64) -> oneshot::Receiver<()> {
        let (cancel, cancelled) = oneshot::channel();
        self.lock().insert(id, cancel);
        cancelled
    }

    pub(crate) fn end(&self, id: u64) {
        self.lock().remove(&id);
    }

    /// One that is not under way any more has been answered, or is about to be.
    pub(crate) fn cancel(&self, id: u64) {
        if let Some(cancel) = self.lock().remove(&id) {
            let _ = cancel.send(());
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<()>>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
