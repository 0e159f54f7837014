//! Elections: one leader among several copies of a program.

use std::convert::Infallible;
use std::ops::Deref;
use std::time::Duration;

use tokio::time::{self, MissedTickBehavior};
use tokio_stream::{Stream, StreamExt};

use crate::backoff::Backoff;
use crate::connection::Connection;
use crate::error::{Error, Result};
use crate::guard::{Guard, Hold};
use crate::lock::LockRequest;
use crate::model::{Claim, Event, EventKind, Metadata, WatchEvent};
use crate::options::WatchOptions;
use crate::progress::Progress;
use crate::watch::Watch;

/// A loop that waits for its next body reports progress this number of times before it would count as stalled ...
const TICKS_WHILE_WAITING: u32 = 3;
/// ... and the shortest interval of these reports.
const SHORTEST_TICK: Duration = Duration::from_millis(1);

/// A candidacy in an election. The leader is the holder of the lock of the election's name.
///
/// ```no_run
/// # async fn example(client: tenure_client::Client) -> tenure_client::Result<()> {
/// use std::time::Duration;
///
/// let election = client.election("service_leader").ttl(Duration::from_secs(2)).owner("replica-1");
/// election
///     .lead_every(Duration::from_secs(1), async |leadership| {
///         println!("working under token {}", leadership.token());
///     })
///     .await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Election {
    connection: Connection,
    name: String,
    request: LockRequest,
}

/// A leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leader {
    /// The fencing token of the leadership.
    pub token: u64,
    /// The leader's session.
    pub session_id: String,
    /// The leader's owner label.
    pub owner: String,
    /// The leader's labels.
    pub metadata: Metadata,
}

impl Leader {
    fn of(claim: &Claim) -> Option<Self> {
        Some(Self {
            token: claim.token?,
            session_id: claim.session_id.clone(),
            owner: claim.owner.clone(),
            metadata: claim.metadata.clone(),
        })
    }
}

impl Election {
    pub(crate) fn new(connection: Connection, name: String) -> Self {
        let request = LockRequest::new(connection.clone(), None, vec![name.clone()]);
        Self { connection, name, request }
    }

    /// The election's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How long the leader may be silent before another takes over. Default: 10 s.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.request = self.request.ttl(ttl);
        self
    }

    /// How long after the leader's connection broke another takes over, unless the leader has reconnected: see
    /// [`SessionOptions::disconnect_grace`](crate::SessionOptions::disconnect_grace). Default: none, the TTL alone
    /// applies.
    #[must_use]
    pub fn disconnect_grace(mut self, grace: Duration) -> Self {
        self.request = self.request.disconnect_grace(grace);
        self
    }

    /// The candidate's owner label, for people. Default: empty.
    #[must_use]
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.request = self.request.owner(owner);
        self
    }

    /// A label on the candidate, such as the address at which the leader is reached.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.request = self.request.metadata(key, value);
        self
    }

    /// Higher goes first among candidates: -1000 to 1000. Default: 0.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        self.request = self.request.priority(priority);
        self
    }

    /// For at least this long after a candidate was elected, no other is elected, even if it resigns earlier. Default:
    /// 0.
    #[must_use]
    pub fn min_hold(mut self, min_hold: Duration) -> Self {
        self.request = self.request.min_hold(min_hold);
        self
    }

    /// The leadership is renewed only while the leader's work makes progress. A hung leader loses it within this and
    /// the TTL, is cancelled if possible, and another leads. More than zero. Default: renewed while the client runs.
    ///
    /// In [`lead_every`](Self::lead_every) the loop reports progress itself: this is the longest time for one body. In
    /// [`lead`](Self::lead), and after [`campaign`](Self::campaign), the work reports it by [`Hold::tick`], at least
    /// this often. A long body of `lead_every` may do so, too.
    #[must_use]
    pub fn stall_after(mut self, within: Duration) -> Self {
        self.request = self.request.stall_after(within);
        self
    }

    /// Takes part only while the program makes this progress, even as a mere candidate: see
    /// [`SessionOptions::renew_while`](crate::SessionOptions::renew_while).
    #[must_use]
    pub fn renew_while(mut self, progress: &Progress) -> Self {
        self.request.options = self.request.options.renew_while(progress);
        self
    }

    /// Waits until this candidate leads.
    ///
    /// # Errors
    /// As [`LockRequest::acquire`].
    pub async fn campaign(&self) -> Result<Leadership> {
        Ok(Leadership { guard: self.request.clone().acquire().await? })
    }

    /// Campaigns, runs `body` while this candidate leads, and repeats this after a loss, and when the body has returned
    /// (the candidate then resigns). The body is cancelled when the leadership is lost; each term has a new token.
    ///
    /// When the server asks for a handoff ([`Hold::transfer_requested`]), the body may continue until the drain is
    /// nearly over; then it is cancelled, and this candidate resigns, which confirms the handoff.
    ///
    /// Never returns `Ok`: drop the future to resign and stop.
    ///
    /// # Errors
    /// Errors that a retry cannot fix: `Invalid`, `Closed`, and refusals other than those of a temporary outage.
    pub async fn lead<F: Future<Output = ()>>(&self, mut body: impl FnMut(Hold) -> F) -> Result<Infallible> {
        let mut backoff = Backoff::of_roles();
        loop {
            let leadership = match self.campaign().await {
                Ok(leadership) => leadership,
                Err(error) if error.is_transient() || matches!(error, Error::Lost(_)) => {
                    tracing::warn!(name = self.name, %error, "the campaign failed, and starts over");
                    time::sleep(backoff.next_pause()).await;
                    continue;
                }
                Err(error) => return Err(error),
            };
            backoff.reset();
            tracing::info!(name = self.name, token = leadership.token(), "leading");
            let lost = tokio::select! {
                biased;
                reason = leadership.lost() => Some(reason),
                () = leadership.drained() => None,
                () = body(leadership.hold()) => None,
            };
            match lost {
                Some(reason) => tracing::warn!(name = self.name, %reason, "the leadership is lost"),
                None => {
                    if let Err(error) = leadership.resign().await {
                        tracing::warn!(name = self.name, %error, "did not resign cleanly");
                    }
                }
            }
        }
    }

    /// Runs `body` at the start of each term, and then every `period` while this candidate leads; campaigns again after
    /// a loss. A body that takes longer than the period delays the next. It is cancelled when the leadership is lost. A
    /// hung body loses the leadership only with [`stall_after`](Self::stall_after). When the server asks for a handoff,
    /// the running body may end within the drain, and no other begins.
    ///
    /// Never returns `Ok`: drop the future to resign and stop.
    ///
    /// # Errors
    /// As [`lead`](Self::lead); `Invalid` for a period of zero.
    pub async fn lead_every<F: Future<Output = ()>>(
        &self,
        period: Duration,
        mut body: impl FnMut(Hold) -> F,
    ) -> Result<Infallible> {
        if period.is_zero() {
            return Err(Error::invalid("period", "it is zero"));
        }
        // One body at a time: the cell only proves to the compiler what the loop ensures.
        let body = tokio::sync::Mutex::new(&mut body);
        self.lead(|hold| async {
            let hold = hold;
            let mut body = body.lock().await;
            let mut ticks = time::interval(period);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    biased;
                    // Between two bodies there is nothing to drain.
                    _ = hold.transfer_requested() => return,
                    () = self.pause(&hold, &mut ticks) => {}
                }
                // The process may have been paused since the tick.
                if !hold.is_valid() {
                    return;
                }
                body(hold.clone()).await;
                hold.tick();
            }
        })
        .await
    }

    /// Waits for the next body's time. Waiting is no stall, however long the period is.
    async fn pause(&self, hold: &Hold, ticks: &mut time::Interval) {
        let stall_after = self.request.spec.stall_after;
        let often = stall_after.map_or(Duration::MAX, |within| (within / TICKS_WHILE_WAITING).max(SHORTEST_TICK));
        while time::timeout(often, ticks.tick()).await.is_err() {
            hold.tick();
        }
        hold.tick();
    }

    /// The current leader.
    ///
    /// # Errors
    /// `Unavailable`, `Refused`.
    pub async fn leader(&self) -> Result<Option<Leader>> {
        Ok(self.connection.get_lock(&self.name).await?.holder().and_then(Leader::of))
    }

    /// The leader, now and after each change; `None` while there is no leader. Continues by itself after failures.
    pub fn observe(&self) -> impl Stream<Item = Result<Option<Leader>>> + Send + Unpin + 'static {
        let mut last: Option<Option<Leader>> = None;
        let name = self.name.clone();
        let watch = Watch::start(&self.connection, WatchOptions::names([self.name.as_str()]));
        Box::pin(watch.filter_map(move |item| {
            let leader = match item {
                Ok(WatchEvent::Snapshot { locks, .. }) => {
                    locks.iter().find(|lock| lock.name == name).and_then(|lock| lock.holder()).and_then(Leader::of)
                }
                Ok(WatchEvent::Events { events, .. }) => leader_after(&events, last.clone().flatten()),
                Ok(WatchEvent::Progress { .. } | WatchEvent::HistoryGone { .. }) => return None,
                Err(error) => return Some(Err(error)),
            };
            let changed = last.as_ref() != Some(&leader);
            last = Some(leader.clone());
            changed.then_some(Ok(leader))
        }))
    }
}

fn leader_after(events: &[Event], mut leader: Option<Leader>) -> Option<Leader> {
    for event in events {
        match event.kind {
            EventKind::Granted | EventKind::Transferred | EventKind::Updated => {
                leader = event.claim.as_ref().and_then(Leader::of)
            }
            EventKind::Ended | EventKind::Lingering => {
                // The end of a waiter's claim changes nothing.
                let token = event.claim.as_ref().and_then(|claim| claim.token);
                leader = leader.filter(|leader| Some(leader.token) != token && !event.vacant);
            }
            EventKind::Queued
            | EventKind::TransferStarted
            | EventKind::TransferCancelled
            | EventKind::Configured
            | EventKind::Unknown => {}
        }
    }
    leader
}

/// One term of a leader, from its election to its loss. Its token is greater than those of all earlier terms. Dropping
/// it resigns in the background.
#[derive(Debug)]
pub struct Leadership {
    guard: Guard,
}

impl Leadership {
    /// A view of the leadership, to pass to tasks.
    #[must_use]
    pub fn hold(&self) -> Hold {
        self.guard.hold()
    }

    /// Waits until the server has asked for a handoff and its drain is nearly over.
    async fn drained(&self) {
        self.guard.transfer_requested().await.drained().await;
    }

    /// Hands the leadership over to a waiting candidate, by its session's id (`None`: the first in the queue), without
    /// a gap in which there is no leader. Returns its token. See [`Guard::transfer_to`].
    ///
    /// # Errors
    /// As [`Guard::transfer_to`].
    pub async fn transfer_to(self, session_id: Option<&str>) -> Result<u64> {
        self.guard.transfer_to(session_id).await
    }

    /// Steps down, and returns when the server has recorded it.
    ///
    /// # Errors
    /// As [`Guard::release`].
    pub async fn resign(self) -> Result<()> {
        self.guard.release().await
    }
}

impl Deref for Leadership {
    type Target = Hold;

    fn deref(&self) -> &Hold {
        &self.guard
    }
}
