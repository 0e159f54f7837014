//! Acquires locks, and runs work only while they are held.

use std::time::Duration;

use tenure_proto::v1;
use tracing::Instrument;

use crate::convert::to_wire;
use crate::declare::{Attempt, Target};
use crate::error::{Error, Result};
use crate::guard::{Guard, Hold};
use crate::options::{SessionOptions, session_setters};
use crate::progress::Progress;
use crate::session::Session;
use crate::{Metadata, trace};

/// A request for one or more locks, all or nothing. Made by [`Client::lock`](crate::Client::lock) and
/// [`Session::lock`](crate::Session::lock).
#[derive(Clone, Debug)]
#[must_use = "nothing is requested until this is awaited by acquire, try_acquire, acquire_within, run or try_run"]
pub struct LockRequest {
    pub(crate) target: Target,
    pub(crate) claim: v1::DeclaredClaim,
    pub(crate) stall_after: Option<Duration>,
}

impl LockRequest {
    pub(crate) fn new(target: Target, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut names: Vec<String> = names.into_iter().map(Into::into).collect();
        names.sort_unstable();
        Self { target, claim: v1::DeclaredClaim { names, ..v1::DeclaredClaim::default() }, stall_after: None }
    }

    session_setters!(target);

    /// The options of the session that is opened for this request. No effect on a request in an existing session.
    pub fn session(mut self, options: SessionOptions) -> Self {
        self.target.options = options;
        self
    }

    /// Shares the locks with other shared requests: readers, as opposed to a writer. Later readers wait behind a
    /// waiting writer. Default: exclusive.
    pub fn shared(mut self) -> Self {
        self.claim.set_mode(v1::Mode::Shared);
        self
    }

    /// Acquires this number of permits of each lock (1 to 1,000,000), out of the lock's limit: a semaphore. The limit
    /// is set by an operator, or by the claims to permits: see [`limit`](Self::limit). Default: exclusive.
    pub fn permits(mut self, permits: u32) -> Self {
        self.claim.set_mode(v1::Mode::Permits);
        self.claim.permits = permits;
        self
    }

    /// The limit of permits that this program expects (1 to 1,000,000): rejected if the lock has another one. Acquires
    /// one permit, unless [`permits`](Self::permits) sets another number. Default: the lock's limit; rejected if it has
    /// none.
    pub fn limit(mut self, limit: u32) -> Self {
        self.claim.set_mode(v1::Mode::Permits);
        self.claim.limit = limit;
        self
    }

    /// The priority among waiters, higher first: -1000 to 1000. Default: 0.
    pub fn priority(mut self, priority: i32) -> Self {
        self.claim.priority = priority;
        self
    }

    /// A free label on the claim. All labels together: at most 4096 bytes.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.claim.metadata.insert(key.into(), value.into());
        self
    }

    /// All labels of the claim.
    pub fn with_metadata(mut self, metadata: Metadata) -> Self {
        self.claim.metadata = metadata;
        self
    }

    /// For at least this long after the grant, no claim is granted these locks again, even if they are released
    /// earlier. For jobs that are shorter than the clock skew of the hosts that start them. At most 24 h. Default: 0.
    pub fn min_hold(mut self, min_hold: Duration) -> Self {
        self.claim.min_hold = Some(to_wire(min_hold));
        self
    }

    /// Renews the session only while the work under the hold makes progress: while the grant, or the last
    /// [`Hold::tick`], is less than this ago. More than zero.
    ///
    /// Hung work loses its locks within this and the TTL together, like a program that died, with
    /// [`LostReason::Stalled`](crate::LostReason::Stalled). A session is renewed as a whole: its other holds are lost,
    /// too. Default: renewed while the client runs.
    pub fn stall_after(mut self, within: Duration) -> Self {
        self.stall_after = Some(within);
        self
    }

    /// Waits for the locks, for as long as it takes.
    ///
    /// # Errors
    /// `Lost` if the session was lost while waiting, `Refused`, and `Unavailable` if no session could be opened in time.
    pub async fn acquire(self) -> Result<Guard> {
        let ended = || Error::Unavailable("the wait was ended by the server".to_owned());
        self.ask(None).await?.acquired().ok_or_else(ended)
    }

    /// Makes one attempt.
    ///
    /// # Errors
    /// `Lost`, `Refused` and `Unavailable`. Locks held by another claim are no error.
    pub async fn try_acquire(self) -> Result<Attempt<Guard>> {
        self.acquire_within(Duration::ZERO).await
    }

    /// Waits for the locks, at most this long (at most 10 years).
    ///
    /// # Errors
    /// `Lost`, `Refused` and `Unavailable`. Locks that another claim still holds then are no error.
    pub async fn acquire_within(self, wait: Duration) -> Result<Attempt<Guard>> {
        self.ask(Some(wait)).await
    }

    /// Waits for the locks, runs `body` while they are held, and releases them.
    ///
    /// If the hold is lost meanwhile, the body is cancelled (its future is dropped) before the server could grant the
    /// locks to others. The body must itself stop work that it started elsewhere (threads, processes, other tasks),
    /// which can wait for [`Hold::lost`].
    ///
    /// # Errors
    /// `Lost` if the body was cancelled; and as [`acquire`](Self::acquire). An error of the release is only
    /// logged: the body did run under the lock.
    pub async fn run<T, F: Future<Output = T>>(self, body: impl FnOnce(Hold) -> F) -> Result<T> {
        run_under(self.acquire().await?, body).await
    }

    /// Makes one attempt; if the locks are free, runs `body` as [`run`](Self::run) does.
    ///
    /// # Errors
    /// As [`run`](Self::run). Locks held by another claim are no error.
    pub async fn try_run<T, F: Future<Output = T>>(self, body: impl FnOnce(Hold) -> F) -> Result<Attempt<T>> {
        match self.try_acquire().await? {
            Attempt::Acquired(guard) => run_under(guard, body).await.map(Attempt::Acquired),
            Attempt::Busy(busy) => Ok(Attempt::Busy(busy)),
        }
    }

    async fn ask(self, wait: Option<Duration>) -> Result<Attempt<Guard>> {
        let Self { target, mut claim, stall_after } = self;
        // What is not worth a request; the server checks all bounds.
        if let Some(pair) = claim.names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::invalid("names", format!("\"{}\" is there twice", pair[0])));
        }
        if claim.names.is_empty() {
            return Err(Error::invalid("names", "there are none"));
        }
        if stall_after.is_some_and(|within| within.is_zero()) {
            return Err(Error::invalid("stall_after", "it is zero"));
        }
        claim.queue = wait != Some(Duration::ZERO);
        let (names, progress) = (claim.names.clone(), stall_after.map(Progress::within));
        let span = tracing::info_span!(
            "tenure.acquire",
            otel.kind = "client",
            tenure.lock.names = trace::joined(&names),
            tenure.fencing_token = tracing::field::Empty
        );
        let declaration = v1::Declaration { claims: vec![claim], ..v1::Declaration::default() };
        let obtaining = target.obtain(declaration, progress.clone(), wait).instrument(span.clone());
        Ok(match obtaining.await? {
            Attempt::Acquired((part, token)) => {
                span.record("tenure.fencing_token", token);
                Attempt::Acquired(Guard::new(part, names, token, progress))
            }
            Attempt::Busy(busy) => Attempt::Busy(busy),
        })
    }
}

impl Session {
    /// Requests a lock in this session: see [`LockRequest`].
    pub fn lock(&self, name: impl Into<String>) -> LockRequest {
        self.locks([name])
    }

    /// Requests several locks at once, all or nothing, with one token: 1 to 16 different names.
    pub fn locks(&self, names: impl IntoIterator<Item = impl Into<String>>) -> LockRequest {
        LockRequest::new(Target::new(self.connection().clone(), Some(self.clone())), names)
    }
}

/// Runs `body` until it ends or the hold is lost, and releases the hold.
async fn run_under<T, F: Future<Output = T>>(guard: Guard, body: impl FnOnce(Hold) -> F) -> Result<T> {
    let output = tokio::select! {
        // The loss is checked first, so that the body does not take another step after it.
        biased;
        reason = guard.lost() => return Err(Error::Lost(reason)),
        output = body(guard.hold()) => output,
    };
    if let Err(error) = guard.release().await {
        tracing::warn!(%error, "the lock was not released cleanly");
    }
    Ok(output)
}
