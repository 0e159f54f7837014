//! The tasks of a server, which are cancelled with it; a panic of any of them ends the server.

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
    /// Creates an empty set. If a task fails, the lease ends, and `cancel` ends the others.
    pub(super) fn new(lease: Arc<Lease>, cancel: CancellationToken) -> Self {
        Self { lease, cancel, tracker: TaskTracker::new() }
    }

    /// Runs a task until it or the server ends. A panic ends the server.
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

    /// Ends the server if this task panics.
    pub(super) fn watch_over(&self, running: JoinHandle<()>) {
        let tasks = self.clone();
        self.tracker.spawn(async move {
            if let Err(error) = running.await {
                tracing::error!(%error, "a sequencer failed");
                tasks.fail();
            }
        });
    }

    /// Ends the server because one of its tasks has failed: as long as it sent heartbeats, no other server would take
    /// over that task's work.
    fn fail(&self) {
        self.lease.revoke();
        self.cancel.cancel();
    }

    pub(super) async fn stop(&self) {
        self.cancel.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}
