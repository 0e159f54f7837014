//! Acquires locks, and runs work only while they are held.

use std::time::Duration;

use tracing::Instrument;

use crate::connection::{AcquireOutcome, AcquireSpec, Connection, Target, Wait};
use crate::error::{Error, Result};
use crate::guard::{Guard, Hold};
use crate::model::{Busy, Metadata, Mode};
use crate::options::SessionOptions;
use crate::session::Session;
use crate::trace;

/// Which locks to acquire, and how. Made by [`Client::lock`](crate::Client::lock) (in a session of its own) or
/// [`Session::lock`] (in that session).
///
/// Nothing is sent before one of [`acquire`](Self::acquire), [`try_acquire`](Self::try_acquire),
/// [`acquire_within`](Self::acquire_within), [`run`](Self::run) and [`try_run`](Self::try_run) is awaited. Dropping
/// such a future cancels the request: a grant is released in the background.
///
/// Tasks that request the same name in the same session exclude each other like those of different sessions.
#[derive(Clone, Debug)]
#[must_use = "nothing is asked until this is awaited by acquire, try_acquire, acquire_within, run or try_run"]
pub struct LockRequest {
    connection: Connection,
    /// `None`: one is opened with `options`.
    session: Option<Session>,
    pub(crate) options: SessionOptions,
    pub(crate) spec: AcquireSpec,
}

/// The outcome of an attempt.
#[derive(Debug)]
pub enum Attempt {
    /// The locks are held.
    Acquired(Guard),
    /// Another claim holds them, or is ahead in the queue.
    Busy(Busy),
}

impl Attempt {
    /// The guard, if the locks are held.
    #[must_use]
    pub fn acquired(self) -> Option<Guard> {
        match self {
            Self::Acquired(guard) => Some(guard),
            Self::Busy(_) => None,
        }
    }
}

/// The outcome of [`LockRequest::try_run`].
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one for each run under a lock, and it is soon taken apart")]
pub enum Ran<T> {
    /// The body ran to its end.
    Done(T),
    /// Another claim holds the locks, or is ahead in the queue; the body did not run.
    Busy(Busy),
}

impl LockRequest {
    pub(crate) fn new(connection: Connection, session: Option<Session>, names: Vec<String>) -> Self {
        Self { connection, session, options: SessionOptions::default(), spec: AcquireSpec::new(names) }
    }

    /// The options of the session that is opened for this request. No effect on a request in an existing session.
    pub fn session(mut self, options: SessionOptions) -> Self {
        self.options = options;
        self
    }

    /// The TTL of the session that is opened for this request. No effect on a request in an existing session.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.options.ttl = ttl;
        self
    }

    /// The disconnect grace of the session that is opened for this request: see [`SessionOptions::disconnect_grace`].
    /// No effect on a request in an existing session.
    pub fn disconnect_grace(mut self, grace: Duration) -> Self {
        self.options.disconnect_grace = Some(grace);
        self
    }

    /// The owner label of the session that is opened for this request. No effect on a request in an existing session.
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.options.owner = owner.into();
        self
    }

    /// Shares the locks with other shared requests: readers, as opposed to a writer. Later readers wait behind a
    /// waiting writer. Default: exclusive.
    pub fn shared(mut self) -> Self {
        self.spec.mode = Mode::Shared;
        self
    }

    /// Acquires this number of permits of each lock (1 to 1,000,000), out of the lock's limit: a semaphore. The limit
    /// is set by an operator, or by the claims to permits: see [`limit`](Self::limit). Default: exclusive.
    pub fn permits(mut self, permits: u32) -> Self {
        let limit = if let Mode::Permits { limit, .. } = self.spec.mode { limit } else { None };
        self.spec.mode = Mode::Permits { permits, limit };
        self
    }

    /// The limit of permits that this program expects (1 to 1,000,000): refused if the lock has another one. Acquires
    /// one permit, unless [`permits`](Self::permits) sets another number. Default: the lock's limit; refused if it has
    /// none.
    pub fn limit(mut self, limit: u32) -> Self {
        let permits = if let Mode::Permits { permits, .. } = self.spec.mode { permits } else { 1 };
        self.spec.mode = Mode::Permits { permits, limit: Some(limit) };
        self
    }

    /// The priority among waiters, higher first: -1000 to 1000. Default: 0.
    pub fn priority(mut self, priority: i32) -> Self {
        self.spec.priority = priority;
        self
    }

    /// A free label on the claim. All labels together: at most 4096 bytes.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.spec.metadata.insert(key.into(), value.into());
        self
    }

    /// All labels of the claim.
    pub fn with_metadata(mut self, metadata: Metadata) -> Self {
        self.spec.metadata = metadata;
        self
    }

    /// For at least this long after the grant, no claim is granted these locks again, even if they are released
    /// earlier. For jobs that are shorter than the clock skew of the hosts that start them. At most 24 h. Default: 0.
    pub fn min_hold(mut self, min_hold: Duration) -> Self {
        self.spec.min_hold = min_hold;
        self
    }

    /// Renews the session only while the work under the hold makes progress: while the grant, or the last
    /// [`Hold::tick`], is less than this ago. More than zero.
    ///
    /// Hung work loses its locks within this and the TTL together, like a program that died, with
    /// [`LostReason::Stalled`](crate::LostReason::Stalled). A session is renewed as a whole: its other holds are lost,
    /// too. Default: renewed while the client runs.
    pub fn stall_after(mut self, within: Duration) -> Self {
        self.spec.stall_after = Some(within);
        self
    }

    /// Waits for the locks, for as long as it takes.
    ///
    /// # Errors
    /// `Lost` if the session was lost while waiting, `Refused`, and `Unavailable` if no session could be opened in time.
    pub async fn acquire(self) -> Result<Guard> {
        match self.ask(Wait::Forever).await? {
            Attempt::Acquired(guard) => Ok(guard),
            Attempt::Busy(_) => Err(Error::Unavailable("the wait was ended by the server".to_owned())),
        }
    }

    /// Makes one attempt.
    ///
    /// # Errors
    /// `Lost`, `Refused` and `Unavailable`. Locks held by another claim are no error.
    pub async fn try_acquire(self) -> Result<Attempt> {
        self.ask(Wait::No).await
    }

    /// Waits for the locks, at most this long (at most 365 days).
    ///
    /// # Errors
    /// `Lost`, `Refused` and `Unavailable`. Locks that another claim still holds then are no error.
    pub async fn acquire_within(self, wait: Duration) -> Result<Attempt> {
        self.ask(Wait::AtMost(wait)).await
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
        let guard = self.acquire().await?;
        run_under(guard, body).await
    }

    /// Makes one attempt; if the locks are free, runs `body` as [`run`](Self::run) does.
    ///
    /// # Errors
    /// As [`run`](Self::run). Locks held by another claim are no error.
    pub async fn try_run<T, F: Future<Output = T>>(self, body: impl FnOnce(Hold) -> F) -> Result<Ran<T>> {
        match self.try_acquire().await? {
            Attempt::Acquired(guard) => run_under(guard, body).await.map(Ran::Done),
            Attempt::Busy(busy) => Ok(Ran::Busy(busy)),
        }
    }

    async fn ask(self, wait: Wait) -> Result<Attempt> {
        let span = tracing::info_span!(
            "tenure.acquire",
            otel.kind = "client",
            tenure.lock.names = trace::joined(&self.spec.names),
            tenure.fencing_token = tracing::field::Empty
        );
        let asking = async {
            let own = Target::Own(&self.options);
            let target = self.session.as_ref().map_or(own, |session| Target::Session(session.handle()));
            Ok::<_, Error>(match self.connection.acquire(target, &self.spec, wait).await? {
                AcquireOutcome::Held(handle) => {
                    tracing::Span::current().record("tenure.fencing_token", handle.presence.token);
                    Attempt::Acquired(Guard::new(handle))
                }
                AcquireOutcome::Busy(busy) => Attempt::Busy(busy),
            })
        };
        asking.instrument(span).await
    }
}

impl Session {
    /// Requests a lock in this session: see [`LockRequest`].
    pub fn lock(&self, name: impl Into<String>) -> LockRequest {
        self.locks([name])
    }

    /// Requests several locks at once, all or nothing, with one token: 1 to 16 different names.
    pub fn locks(&self, names: impl IntoIterator<Item = impl Into<String>>) -> LockRequest {
        let names = names.into_iter().map(Into::into).collect();
        LockRequest::new(self.connection().clone(), Some(self.clone()), names)
    }
}

/// Runs `body` until it ends or the hold is lost, and releases the hold.
async fn run_under<T, F: Future<Output = T>>(guard: Guard, body: impl FnOnce(Hold) -> F) -> Result<T> {
    let ended = tokio::select! {
        // The loss is checked first, so that the body does not take another step after it.
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
