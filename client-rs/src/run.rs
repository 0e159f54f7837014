//! Running something only while a lock is held.

use crate::error::{Error, Result};
use crate::guard::{Guard, Hold};
use crate::lock::{Attempt, LockRequest, Ran};

impl LockRequest {
    /// Waits for the locks, runs `body` while they are held, and gives them back.
    ///
    /// If the hold is lost meanwhile, the body is cancelled (its future is dropped) before the server could give the locks to
    /// others. Work that the body started elsewhere (threads, processes, other tasks) it must stop itself: it can wait for
    /// [`Hold::lost`] there.
    ///
    /// # Errors
    /// `Lost` if the body was cancelled; and as [`acquire`](Self::acquire). An error in giving back what was held is told in
    /// the log only: the body did run under the lock.
    pub async fn run<T, F: Future<Output = T>>(self, body: impl FnOnce(Hold) -> F) -> Result<T> {
        let guard = self.acquire().await?;
        run_under(guard, body).await
    }

    /// Tries once; if the locks are free, runs `body` as [`run`](Self::run) does.
    ///
    /// # Errors
    /// As [`run`](Self::run). That somebody else holds the locks is no error.
    pub async fn try_run<T, F: Future<Output = T>>(self, body: impl FnOnce(Hold) -> F) -> Result<Ran<T>> {
        match self.try_acquire().await? {
            Attempt::Acquired(guard) => run_under(guard, body).await.map(Ran::Done),
            Attempt::Busy(busy) => Ok(Ran::Busy(busy)),
        }
    }
}

/// Runs `body` until it ends or the hold is lost, and gives back.
async fn run_under<T, F: Future<Output = T>>(guard: Guard, body: impl FnOnce(Hold) -> F) -> Result<T> {
    let ended = tokio::select! {
        // The loss is looked at first, so that the body does not take another step after it.
        biased;
        reason = guard.lost() => Err(Error::Lost(reason)),
        output = body(guard.hold()) => Ok(output),
    };
    if ended.is_ok()
        && let Err(error) = guard.release().await
    {
        tracing::warn!(%error, "the lock was not given back cleanly");
    }
    ended
}
