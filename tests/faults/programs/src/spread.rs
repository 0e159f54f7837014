//! A program that spreads plain calls over all servers at random, as behind a load balancer. The acquires, renewals,
//! cancels and releases of one session go to different servers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tenure_checker::{Call, CallKind, Entry, Outcome, Renewal, Sharing, ValidHold};
use tenure_client::transport::Wire;
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::session_service_client::SessionServiceClient;
use tenure_proto::v1::{AcquireRequest, CancelAcquireRequest, OpenSessionRequest, ReleaseRequest, RenewRequest};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::Task;

/// Response timeout, beyond the wait time of the call itself.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Number of locks that are reserved for these programs.
const LOCKS: u32 = 2;

/// Fraction of the acknowledged TTL that the program relies on, because clocks differ.
const MARGIN: f64 = 0.98;

/// Maximum number of attempts to cancel before the session is left to expire.
const CANCEL_ATTEMPTS: usize = 8;

/// Runs until the task's time is over.
pub async fn run(task: Task, mut rng: StdRng) {
    let mut count = 0;
    while task.environment.may_continue() {
        count += 1;
        let id = format!("spread-{}-{count}", task.name);
        let ttl = Duration::from_millis(rng.random_range(600..3_000));
        let Some(mut session) = Session::open(&task, id, ttl, StdRng::from_rng(&mut rng)).await else {
            task.pause().await;
            continue;
        };
        for _ in 0..rng.random_range(1..5) {
            if !task.environment.may_continue() || !session.use_lock().await {
                break;
            }
        }
    }
}

/// A session, renewed until it is dropped.
struct Session {
    caller: Caller,
    /// Time until which the session is known to live, by the clock that all environments share.
    valid_until: Arc<Mutex<Duration>>,
    renewing: JoinHandle<()>,
}

impl Session {
    async fn open(task: &Task, id: String, ttl: Duration, mut rng: StdRng) -> Option<Self> {
        let mut renewer = Caller { task: task.clone(), id: id.clone(), rng: StdRng::from_rng(&mut rng), last: None };
        let mut caller = Caller { task: task.clone(), id, rng, last: None };
        let valid_until = Arc::new(Mutex::new(caller.open(ttl).await?));
        let renewed = valid_until.clone();
        let renewing = tokio::spawn(async move {
            loop {
                // One renewal in eight is nearly too late, and is then sent to two servers.
                let is_late = renewer.rng.random_range(0..8) == 0;
                let (pause, times) = if is_late { (0.8..1.0, 2) } else { (0.05..0.4, 1) };
                sleep(ttl.mul_f64(renewer.rng.random_range(pause))).await;
                for _ in 0..times {
                    if let Some(until) = renewer.renew().await {
                        let mut renewed = renewed.lock().unwrap_or_else(PoisonError::into_inner);
                        *renewed = renewed.max(until);
                    }
                }
            }
        });
        Some(Self { caller, valid_until, renewing })
    }

    fn is_valid(&self) -> bool {
        self.caller.task.environment.now() < *self.valid_until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tries to acquire a lock and to hold it for a while. Returns whether the session is still usable.
    async fn use_lock(&mut self) -> bool {
        let name = format!("spread/{}", self.caller.rng.random_range(0..LOCKS));
        loop {
            let wait = Duration::from_millis(self.caller.rng.random_range(0..2_500));
            // One call in eight times out halfway through its wait, and one in eight almost at once.
            let timeout_after = match self.caller.rng.random_range(0..8) {
                0 => wait.mul_f64(0.5),
                1 => Duration::from_millis(self.caller.rng.random_range(1..50)),
                _ => wait + TIMEOUT,
            };
            match self.caller.acquire(&name, wait, timeout_after).await {
                Outcome::Acquired(token) => return self.work(&name, token).await,
                Outcome::Busy => return self.is_valid(),
                // A request that the server receives late must not affect later calls, so the session ends.
                _ if !self.caller.is_received().await => return false,
                // Sends the Acquire again, usually before the claim is cancelled for lack of a call.
                _ if self.is_valid() && self.caller.task.environment.may_continue() && self.caller.rng.random() => {
                    sleep(Duration::from_millis(self.caller.rng.random_range(0..6_000))).await;
                }
                _ => break,
            }
        }
        let is_cancelled = self.caller.cancel(&name).await;
        // Time in which the call must have no late effect.
        sleep(Duration::from_millis(self.caller.rng.random_range(0..500))).await;
        is_cancelled && self.is_valid()
    }

    /// Relies on the hold while the session is known to live, but only for a limited time, and then releases it.
    async fn work(&mut self, name: &str, token: u64) -> bool {
        // Usually longer than the server keeps a claim whose call was not answered.
        let until = self.caller.task.environment.now() + Duration::from_millis(self.caller.rng.random_range(0..9_000));
        loop {
            // Read the time before the session is checked: the host may be frozen in between.
            let at = self.caller.task.environment.now();
            if !self.is_valid() {
                return false;
            }
            if at >= until {
                return self.caller.release(name, token).await;
            }
            let (names, sharing) = (vec![name.to_owned()], Sharing::Exclusive);
            self.caller.task.environment.write(Entry::ValidHold(ValidHold { at, names, token, sharing }));
            sleep(Duration::from_millis(self.caller.rng.random_range(1..400))).await;
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}

/// The calls of one session, each to a random server.
struct Caller {
    task: Task,
    id: String,
    rng: StdRng,
    /// Connection on which the last Acquire was sent.
    last: Option<Wire>,
}

impl Caller {
    async fn wire(&mut self) -> Option<Wire> {
        let server = self.task.draw_server(&mut self.rng).parse().ok()?;
        timeout(TIMEOUT, self.task.connector.connect(&server)).await.ok()?.ok()
    }

    /// Records the renewal, and returns the time until which the session is known to live.
    fn acknowledged(&self, start: Duration, ttl: Duration) -> Duration {
        self.task.environment.write(Entry::Renewal(Renewal { session: self.id.clone(), start, ttl }));
        start + ttl.mul_f64(MARGIN)
    }

    async fn open(&mut self, ttl: Duration) -> Option<Duration> {
        let request = OpenSessionRequest {
            session_id: self.id.clone(),
            ttl: ttl.try_into().ok(),
            ..OpenSessionRequest::default()
        };
        let wire = self.wire().await?;
        let start = self.task.environment.now();
        let answer = timeout(TIMEOUT, SessionServiceClient::new(wire).open_session(request)).await.ok()?.ok()?;
        Some(self.acknowledged(start, answer.into_inner().session?.ttl?.try_into().ok()?))
    }

    async fn renew(&mut self) -> Option<Duration> {
        let wire = self.wire().await?;
        self.renew_by(wire).await
    }

    async fn renew_by(&self, wire: Wire) -> Option<Duration> {
        let request = RenewRequest { session_id: self.id.clone(), ..RenewRequest::default() };
        let start = self.task.environment.now();
        let answer = timeout(TIMEOUT, SessionServiceClient::new(wire).renew(request)).await.ok()?.ok()?;
        Some(self.acknowledged(start, answer.into_inner().ttl?.try_into().ok()?))
    }

    async fn acquire(&mut self, name: &str, wait: Duration, timeout_after: Duration) -> Outcome {
        let start = self.task.environment.now();
        let request = AcquireRequest {
            names: vec![name.to_owned()],
            session_id: self.id.clone(),
            wait: wait.try_into().ok(),
            ..AcquireRequest::default()
        };
        self.last = self.wire().await;
        let outcome = match self.last.clone() {
            None => Outcome::Unknown("no connection".to_owned()),
            Some(wire) => match timeout(timeout_after, LockServiceClient::new(wire).acquire(request)).await {
                Ok(Ok(answer)) => match answer.into_inner() {
                    answer if answer.acquired => Outcome::Acquired(answer.token),
                    _ => Outcome::Busy,
                },
                Ok(Err(status)) => Outcome::Unknown(status.to_string()),
                Err(_) => Outcome::Unknown("the call timed out".to_owned()),
            },
        };
        self.record(name, CallKind::PlainAcquire, start, outcome.clone());
        outcome
    }

    /// Whether the server has received the last Acquire. A reply to a later request on the same connection implies it.
    async fn is_received(&mut self) -> bool {
        match self.last.take() {
            Some(wire) => self.renew_by(wire).await.is_some(),
            None => false,
        }
    }

    /// Cancels an Acquire. Returns whether the cancel was acknowledged and no earlier cancel can still arrive and
    /// cancel a later Acquire.
    async fn cancel(&mut self, name: &str) -> bool {
        let mut is_last = true;
        for _ in 0..CANCEL_ATTEMPTS {
            let start = self.task.environment.now();
            let request = CancelAcquireRequest {
                names: vec![name.to_owned()],
                session_id: self.id.clone(),
                ..CancelAcquireRequest::default()
            };
            let Some(wire) = self.wire().await else { continue };
            if let Ok(Ok(_)) = timeout(TIMEOUT, LockServiceClient::new(wire).cancel_acquire(request)).await {
                self.record(name, CallKind::Cancel, start, Outcome::Done);
                return is_last;
            }
            is_last = false;
        }
        false
    }

    /// Releases a hold. Returns whether the release was acknowledged.
    async fn release(&mut self, name: &str, token: u64) -> bool {
        let start = self.task.environment.now();
        let (session_id, name) = (self.id.clone(), name.to_owned());
        let request = ReleaseRequest { name: name.clone(), session_id, token, ..ReleaseRequest::default() };
        let Some(wire) = self.wire().await else { return false };
        let is_released = matches!(timeout(TIMEOUT, LockServiceClient::new(wire).release(request)).await, Ok(Ok(_)));
        if is_released {
            self.record(&name, CallKind::Release(token), start, Outcome::Done);
        }
        is_released
    }

    fn record(&self, name: &str, kind: CallKind, start: Duration, outcome: Outcome) {
        let (session, names, end) = (self.id.clone(), vec![name.to_owned()], self.task.environment.now());
        self.task.environment.write(Entry::Call(Call { session, names, kind, start, end, outcome }));
    }
}
