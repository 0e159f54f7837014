//! Elections: one leader among several copies of a program.

use std::convert::Infallible;
use std::time::Duration;

use tenure_proto::v1;
use tenure_proto::v1::EventType;
use tenure_proto::v1::watch_response::Kind;
use tokio::time::{self, MissedTickBehavior};
use tokio_stream::{Stream, StreamExt};

use crate::backoff::Backoff;
use crate::connection::Connection;
use crate::declare::Target;
use crate::error::{Error, Result};
use crate::guard::{Guard, Hold};
use crate::lock::LockRequest;
use crate::options::session_setters;
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
#[must_use]
pub struct Election {
    name: String,
    request: LockRequest,
}

impl Election {
    pub(crate) fn new(connection: Connection, name: String) -> Self {
        let request = LockRequest::new(Target::new(connection, None), [name.clone()]);
        Self { name, request }
    }

    session_setters!(request);

    /// The election's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A label on the candidate, such as the address at which the leader is reached.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.request = self.request.metadata(key, value);
        self
    }

    /// Higher goes first among candidates: -1000 to 1000. Default: 0.
    pub fn priority(mut self, priority: i32) -> Self {
        self.request = self.request.priority(priority);
        self
    }

    /// For at least this long after a candidate was elected, no other is elected, even if it resigns earlier. Default:
    /// 0.
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
    pub fn stall_after(mut self, within: Duration) -> Self {
        self.request = self.request.stall_after(within);
        self
    }

    /// Waits until this candidate leads. Returns its hold of the lock, until whose loss or release it leads: one term, with
    /// a token greater than those of all earlier terms.
    ///
    /// # Errors
    /// As [`LockRequest::acquire`].
    pub async fn campaign(&self) -> Result<Guard> {
        self.request.clone().acquire().await
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
            let guard = match self.campaign().await {
                Ok(guard) => guard,
                Err(error) if error.is_transient() || matches!(error, Error::Lost(_)) => {
                    tracing::warn!(name = self.name, %error, "the campaign failed, and starts over");
                    time::sleep(backoff.next_pause()).await;
                    continue;
                }
                Err(error) => return Err(error),
            };
            backoff.reset();
            tracing::info!(name = self.name, token = guard.token(), "leading");
            let drained = async { guard.transfer_requested().await.drained().await };
            tokio::select! {
                biased;
                reason = guard.lost() => {
                    tracing::warn!(name = self.name, %reason, "the leadership is lost");
                    continue;
                }
                () = drained => {}
                () = body(guard.hold()) => {}
            }
            if let Err(error) = guard.release().await {
                tracing::warn!(name = self.name, %error, "did not resign cleanly");
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
        let stall_after = self.request.stall_after;
        let often = stall_after.map_or(Duration::MAX, |within| (within / TICKS_WHILE_WAITING).max(SHORTEST_TICK));
        while time::timeout(often, ticks.tick()).await.is_err() {
            hold.tick();
        }
        hold.tick();
    }

    /// The claim of the current leader.
    ///
    /// # Errors
    /// `Unavailable`, `Refused`.
    pub async fn leader(&self) -> Result<Option<v1::Claim>> {
        Ok(self.request.target.connection.get_lock(&self.name).await?.holder().cloned())
    }

    /// The claim of the leader, now and after each change; `None` while there is no leader. Continues by itself after
    /// failures.
    pub fn observe(&self) -> impl Stream<Item = Result<Option<v1::Claim>>> + Send + Unpin + 'static {
        let (name, mut leader, mut last) = (self.name.clone(), None, None);
        let request = v1::WatchRequest { names: vec![name.clone()], ..v1::WatchRequest::default() };
        let watch = Watch::start(&self.request.target.connection, request);
        Box::pin(watch.filter_map(move |item| {
            match item.map(|response| response.kind) {
                Ok(Some(Kind::Snapshot(snapshot))) => {
                    leader = snapshot.locks.iter().find(|lock| lock.name == name).and_then(v1::Lock::holder).cloned();
                }
                Ok(Some(Kind::Events(events))) => {
                    leader = events.events.into_iter().fold(leader.take(), leader_after);
                }
                Ok(_) => return None,
                Err(error) => return Some(Err(error)),
            }
            (last.as_ref() != Some(&leader)).then(|| Ok(last.insert(leader.clone()).clone()))
        }))
    }
}

fn leader_after(leader: Option<v1::Claim>, event: v1::Event) -> Option<v1::Claim> {
    match event.r#type() {
        EventType::Granted | EventType::Transferred | EventType::Updated => event.claim,
        // The end of a waiter's claim changes nothing.
        EventType::Ended | EventType::Lingering => {
            let token = event.claim.map(|claim| claim.token);
            leader.filter(|leader| Some(leader.token) != token)
        }
        _ => leader,
    }
}
