//! Requests in progress, which can be cancelled.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// The requests in progress, by id.
#[derive(Default)]
pub(crate) struct Running {
    requests: Mutex<HashMap<u64, oneshot::Sender<()>>>,
}

impl Running {
    /// Registers a request; the receiver is notified of its cancellation.
    pub(crate) fn begin(&self, id: u64) -> oneshot::Receiver<()> {
        let (cancel, cancelled) = oneshot::channel();
        self.lock().insert(id, cancel);
        cancelled
    }

    pub(crate) fn end(&self, id: u64) {
        self.lock().remove(&id);
    }

    /// A request that is no longer in progress has been answered, or is about to be.
    pub(crate) fn cancel(&self, id: u64) {
        if let Some(cancel) = self.lock().remove(&id) {
            let _ = cancel.send(());
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<()>>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
