//! Opens sessions, makes claims and memberships, and waits for their states.

use std::sync::Arc;
use std::time::Duration;

use tenure_proto::v1;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::{Connection, HoldHandle, PartHandle, SessionHandle};
use crate::backoff::Backoff;
use crate::convert::{mode_to_wire, to_wire};
use crate::error::{Error, Reason, Refusal, Result};
use crate::latest::Latest;
use crate::model::{Busy, EndReason, Metadata, Mode};
use crate::options::SessionOptions;
use crate::presence::HoldPresence;
use crate::progress::Progress;
use crate::protocol::{Declared, End};

/// The upper bound of a wait: clocks cannot represent all durations.
const LONGEST_WAIT: Duration = Duration::from_secs(10 * 365 * 86_400);

/// How long to wait for locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Try once.
    No,
    /// At most this long.
    AtMost(Duration),
    /// For as long as it takes.
    Forever,
}

/// Which locks to acquire, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AcquireSpec {
    pub(crate) names: Arc<[String]>,
    pub(crate) mode: Mode,
    pub(crate) priority: i32,
    pub(crate) metadata: Metadata,
    pub(crate) min_hold: Duration,
    pub(crate) stall_after: Option<Duration>,
}

/// The outcome of an acquire that did not fail.
#[derive(Debug)]
pub(crate) enum AcquireOutcome {
    /// The locks are held.
    Held(HoldHandle),
    /// The wait is over, and another claim is in the way.
    Busy(Busy),
}

/// What was waited for.
enum Settled {
    /// With the token of the claim, or the member's number.
    Granted(PartHandle, u64),
    Busy(Busy),
}

impl AcquireSpec {
    /// With the names in byte order.
    pub(crate) fn new(mut names: Vec<String>) -> Self {
        names.sort_unstable();
        Self { names: names.into(), ..Self::default() }
    }

    /// Checks what is not worth a request; the server checks all bounds.
    fn check(&self) -> Result<()> {
        if self.names.is_empty() {
            return Err(Error::invalid("names", "there are none"));
        }
        if let Some(pair) = self.names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::invalid("names", format!("\"{}\" is there twice", pair[0])));
        }
        if self.stall_after.is_some_and(|within| within.is_zero()) {
            return Err(Error::invalid("stall_after", "it is zero"));
        }
        Ok(())
    }

    fn to_wire(&self, wait: Wait) -> Declared {
        let (mode, permits, limit) = mode_to_wire(self.mode);
        Declared::Claim(v1::DeclaredClaim {
            names: self.names.to_vec(),
            queue: wait != Wait::No,
            mode: mode.into(),
            permits,
            limit,
            priority: self.priority,
            min_hold: (self.min_hold > Duration::ZERO).then(|| to_wire(self.min_hold)),
            metadata: self.metadata.clone(),
            ..v1::DeclaredClaim::default()
        })
    }
}

/// Where to make a claim or a membership.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target<'a> {
    /// In this session.
    Session(&'a Arc<SessionHandle>),
    /// In a session of its own.
    Own(&'a SessionOptions),
}

/// Until when to wait.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// For the first state.
    reply: Option<Instant>,
    /// For the locks.
    wait: Option<Instant>,
}

impl Limits {
    /// The limits of a wait that begins now. In a session that exists, a wait without an end may also wait for a server.
    fn new(wait: Wait, target: Target<'_>, call_timeout: Duration) -> Self {
        let after = |time: Duration| Instant::now() + time.min(LONGEST_WAIT);
        let (wait, reply) = match (wait, target) {
            (Wait::No, _) => (Some(Duration::ZERO), Some(call_timeout)),
            (Wait::AtMost(wait), _) => (Some(wait), Some(wait.saturating_add(call_timeout))),
            (Wait::Forever, Target::Session(_)) => (None, None),
            (Wait::Forever, Target::Own(_)) => (None, Some(call_timeout)),
        };
        Self { reply: reply.map(after), wait: wait.map(after) }
    }

    /// Whether to make another attempt after this error: after a pause, if it was a temporary rejection.
    async fn allow_another(&self, error: &Error, backoff: &mut Backoff) -> bool {
        let pause = backoff.next_pause();
        // A claim ends if the client reconnects too late; the caller still waits for the locks.
        let is_late = |refusal: &Refusal| {
            refusal.reason == Reason::ClaimEnded && refusal.end_reason() == Some(EndReason::Disconnected)
        };
        let is_rejected = matches!(error, Error::Refused(refusal) if refusal.is_transient() || is_late(refusal));
        let allowed = is_rejected && self.reply.is_none_or(|reply| Instant::now() + pause < reply);
        if allowed {
            sleep(pause).await;
        }
        allowed
    }
}

impl Connection {
    /// Opens a session.
    pub(crate) async fn open_session(&self, options: &SessionOptions) -> Result<Arc<SessionHandle>> {
        let limits = Limits::new(Wait::No, Target::Own(options), self.call_timeout);
        let mut backoff = Backoff::of_commands();
        loop {
            let (session, _) = self.declare_session(options, None)?;
            let mut latest = session.latest.clone();
            let error = loop {
                let state = latest.borrow_and_update().clone();
                match state {
                    Latest::Ended(end) => break end.into_error(&session.id),
                    Latest::Declared => self.next(&mut latest, limits.reply).await?,
                    _ => return Ok(session),
                }
            };
            if !limits.allow_another(&error, &mut backoff).await {
                return Err(error);
            }
        }
    }

    /// Acquires locks.
    pub(crate) async fn acquire(&self, target: Target<'_>, spec: &AcquireSpec, wait: Wait) -> Result<AcquireOutcome> {
        spec.check()?;
        let progress = spec.stall_after.map(Progress::within);
        Ok(match self.obtain(target, &(spec.to_wire(wait), progress.clone()), wait).await? {
            Settled::Busy(busy) => AcquireOutcome::Busy(busy),
            Settled::Granted(claim, token) => {
                let (session, names) = (Arc::clone(&claim.session.presence), Arc::clone(&spec.names));
                let presence = HoldPresence::new(session, names, token, progress, claim.latest());
                AcquireOutcome::Held(HoldHandle::new(presence, claim))
            }
        })
    }

    /// Joins a group. Returns the membership and the member's number.
    pub(crate) async fn join(&self, target: Target<'_>, group: &str, metadata: &Metadata) -> Result<(PartHandle, u64)> {
        let (group, metadata) = (group.to_owned(), metadata.clone());
        let declared = v1::DeclaredMembership { group, metadata, ..v1::DeclaredMembership::default() };
        match self.obtain(target, &(Declared::Membership(declared), None), Wait::No).await? {
            Settled::Granted(membership, member) => Ok((membership, member)),
            Settled::Busy(_) => Err(Error::Unavailable("the membership did not begin".to_owned())),
        }
    }

    /// Makes a claim or a membership, and waits for it.
    async fn obtain(&self, target: Target<'_>, part: &(Declared, Option<Progress>), wait: Wait) -> Result<Settled> {
        let limits = Limits::new(wait, target, self.call_timeout);
        let mut backoff = Backoff::of_commands();
        loop {
            let error = match self.settle(self.declare(target, part.clone())?, limits).await {
                Err(error) => error,
                settled => return settled,
            };
            if !limits.allow_another(&error, &mut backoff).await {
                return Err(error);
            }
        }
    }

    fn declare(&self, target: Target<'_>, part: (Declared, Option<Progress>)) -> Result<PartHandle> {
        match target {
            Target::Session(session) => {
                if let Some(reason) = session.presence.lost_reason() {
                    return Err(Error::Lost(reason));
                }
                let presence = &session.presence;
                let declared = self.change(|table, now| table.declare(session.number, part, presence, now));
                Ok(PartHandle::new(declared, Arc::clone(session)))
            }
            Target::Own(options) => match self.declare_session(options, Some(part))? {
                (_, Some(part)) => Ok(part),
                (_, None) => Err(Error::Closed),
            },
        }
    }

    fn declare_session(
        &self,
        options: &SessionOptions,
        with: Option<(Declared, Option<Progress>)>,
    ) -> Result<(Arc<SessionHandle>, Option<PartHandle>)> {
        options.check()?;
        let id = options.id.clone().unwrap_or_else(|| uuid::Uuid::now_v7().to_string());
        let declared = v1::DeclaredSession {
            session_id: id.clone(),
            ttl: Some(to_wire(options.ttl)),
            disconnect_grace: options.disconnect_grace.map(to_wire),
            owner: options.owner.clone(),
            metadata: options.metadata.clone(),
        };
        let presence = Arc::default();
        let opened = self.change(|table, now| {
            let session = (declared, options.progress.clone());
            (!table.is_closing()).then(|| table.open(session, with, &presence, now))
        });
        let ((number, latest), part) = opened.ok_or(Error::Closed)?;
        let session = Arc::new(SessionHandle {
            number,
            latest,
            id,
            owner: options.owner.clone(),
            ttl: options.ttl,
            disconnect_grace: options.disconnect_grace,
            presence,
            connection: self.clone(),
        });
        let part = part.map(|part| PartHandle::new(part, Arc::clone(&session)));
        Ok((session, part))
    }

    /// Waits until a claim or a membership is granted or ends, or the wait is over.
    async fn settle(&self, part: PartHandle, limits: Limits) -> Result<Settled> {
        let mut latest = part.latest();
        let presence = Arc::clone(&part.session.presence);
        loop {
            let state = latest.borrow_and_update().clone();
            let until = match state {
                Latest::Held { token: granted, .. } | Latest::Joined(granted) if presence.is_open() => {
                    return Ok(Settled::Granted(part, granted));
                }
                Latest::Ended(End::Busy(busy)) => return Ok(Settled::Busy(busy.holder.into())),
                Latest::Ended(end @ End::Reported(_)) => {
                    let lost = presence.lost_reason().map(Error::Lost);
                    return Err(lost.unwrap_or_else(|| end.into_error(&part.session.id)));
                }
                Latest::Ended(end) => return Err(end.into_error(&part.session.id)),
                Latest::Waiting(busy) if limits.wait.is_some_and(|until| until <= Instant::now()) => {
                    if let Some(busy) = self.stop_waiting(&part, busy).await {
                        return Ok(Settled::Busy(busy));
                    }
                    continue;
                }
                Latest::Waiting(_) => limits.wait,
                Latest::Held { .. } | Latest::Joined(_) | Latest::Declared | Latest::Open => limits.reply,
            };
            tokio::select! {
                biased;
                changed = self.next(&mut latest, until) => match changed {
                    Err(Error::Closed) => return Err(Error::Closed),
                    // The wait is over.
                    Err(_) if matches!(*latest.borrow(), Latest::Waiting(_)) => {}
                    changed => changed?,
                },
                reason = presence.lost() => {
                    // The claim may have ended with its session, for a reason of its own.
                    if !matches!(*latest.borrow(), Latest::Ended(_)) {
                        return Err(Error::Lost(reason));
                    }
                }
            }
        }
    }

    /// Withdraws a claim whose wait is over, unless it was granted at the last moment.
    async fn stop_waiting(&self, part: &PartHandle, busy: Busy) -> Option<Busy> {
        let is_waiting = self.change(|table, now| {
            let is_waiting = matches!(*part.latest.borrow(), Latest::Waiting(_));
            if is_waiting {
                table.withdraw(part.number, now);
            }
            is_waiting
        });
        if is_waiting {
            // Not needed for the outcome: but when the caller reads the queue, it has left.
            let _ = self.end(part.latest()).await;
        }
        is_waiting.then_some(busy)
    }

    /// Waits for the next state.
    async fn next(&self, latest: &mut watch::Receiver<Latest>, until: Option<Instant>) -> Result<()> {
        let too_late = async {
            match until {
                Some(until) => sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            changed = latest.changed() => changed.map_err(|_| Error::Closed),
            () = too_late => Err(self.unanswered()),
        }
    }
}
