//! The tasks of a server: they end with it, and it ends with each of them that fails.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::cluster::lease::Lease;

/// The tasks of one run of a server. Clones share them.
#[derive(Clone)]
pub struct Tasks {
    lease: Arc<Lease>,
    cancel: CancellationToken,
    tracker: TaskTracker,
}

impl Tasks {
    /// None yet. If one fails, the lease is given up, and `cancel` ends the others.
    pub(super) fn new(lease: Arc<Lease>, cancel: CancellationToken) -> Self {
        Self { lease, cancel, tracker: TaskTracker::new() }
    }

    /// Runs a task until it or the server ends. If it panics, the server ends with it.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let tasks = self.clone();
        let task = AssertUnwindSafe(task).catch_unwind();
        self.tracker.spawn(async move {
            tokio::select! {
                () = tasks.cancel.cancelled() => {}
                ended = task => if ended.is_err() {
                    tracing::error!("a task of the server failed");
                    tasks.fail();
                }
            }
        });
    }

    /// The server ends with this task, too, if that panics.
    pub(super) fn watch_over(&self, running: JoinHandle<()>) {
        let tasks = self.clone();
        self.tracker.spawn(async move {
            if let Err(error) = running.await {
                tracing::error!(%error, "a sequencer failed");
                tasks.fail();
            }
        });
    }

    /// Ends the server because a part of it is broken: while it sends heartbeats, no other server does what that part did.
    fn fail(&self) {
        self.lease.give_up();
        self.cancel.cancel();
    }

    /// Ends all tasks, and waits for them.
    pub(super) async fn stop(&self) {
        self.cancel.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}
