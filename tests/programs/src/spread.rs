//! A program of plain calls that spreads them over all servers at random, as behind a balancer: what it waits for, renews, cancels and
//! gives back in one session is asked wherever chance has it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tenure_checker::{Call, CallKind, Entry, Outcome, Renewal, Sharing, Sighting};
use tenure_client::transport::Wire;
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::session_service_client::SessionServiceClient;
use tenure_proto::v1::{AcquireRequest, CancelAcquireRequest, OpenSessionRequest, ReleaseRequest, RenewRequest};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::Task;

/// How long an answer is waited for, beyond what the call itself is to wait.
const PATIENCE: Duration = Duration::from_secs(1);

/// How many locks only such programs use.
const LOCKS: u32 = 2;

/// What is left of the acknowledged time to live when the program stops to rely on it: clocks differ.
const MARGIN: f64 = 0.98;

/// How often a cancel is tried before its session is left to expire.
const CANCELS: usize = 8;

/// Runs until the task's time is over.
pub async fn run(task: Task, mut rng: StdRng) {
    let mut count = 0;
    while task.place.is_time() {
        count += 1;
        let id = format!("spread-{}-{count}", task.name);
        let ttl = Duration::from_millis(rng.random_range(600..3_000));
        let Some(mut session) = Session::open(&task, id, ttl, StdRng::from_rng(&mut rng)).await else {
            task.pause().await;
            continue;
        };
        for _ in 0..rng.random_range(1..5) {
            if !task.place.is_time() || !session.take_turn().await {
                break;
            }
        }
    }
}

/// A session, which is renewed until it is dropped.
struct Session {
    caller: Caller,
    /// Until when the session surely lives, by the clock that all places share.
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
                // One in eight is nearly too late, and then asks two servers.
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
        self.caller.task.place.now() < *self.valid_until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tries to hold a lock for a while. Says whether the session is of any more use.
    async fn take_turn(&mut self) -> bool {
        let name = format!("spread/{}", self.caller.rng.random_range(0..LOCKS));
        loop {
            let wait = Duration::from_millis(self.caller.rng.random_range(0..2_500));
            // Some do not wait for the answer, or hardly for the server.
            let patience = match self.caller.rng.random_range(0..8) {
                0 => wait.mul_f64(0.5),
                1 => Duration::from_millis(self.caller.rng.random_range(1..50)),
                _ => wait + PATIENCE,
            };
            match self.caller.acquire(&name, wait, patience).await {
                Outcome::Acquired(token) => return self.work(&name, token).await,
                Outcome::Busy => return self.is_valid(),
                // What a server receives only later is the business of no later call.
                _ if !self.caller.is_received().await => return false,
                // Asks again, as a rule before the claim is cancelled for want of a call.
                _ if self.is_valid() && self.caller.task.place.is_time() && self.caller.rng.random() => {
                    sleep(Duration::from_millis(self.caller.rng.random_range(0..6_000))).await;
                }
                _ => break,
            }
        }
        let is_cancelled = self.caller.cancel(&name).await;
        // Time in which nothing may come of it any more.
        sleep(Duration::from_millis(self.caller.rng.random_range(0..500))).await;
        is_cancelled && self.is_valid()
    }

    /// Relies on the hold for as long as the session is known to live, at most for a while, and gives it back.
    async fn work(&mut self, name: &str, token: u64) -> bool {
        // Longer than a claim is kept whose call was not answered, as a rule.
        let until = self.caller.task.place.now() + Duration::from_millis(self.caller.rng.random_range(0..9_000));
        loop {
            // Before the session is looked at: a host may be frozen in between.
            let at = self.caller.task.place.now();
            if !self.is_valid() {
                return false;
            }
            if at >= until {
                return self.caller.release(name, token).await;
            }
            let (names, sharing) = (vec![name.to_owned()], Sharing::Exclusive);
            self.caller.task.place.write(Entry::Sighting(Sighting { at, names, token, sharing }));
            sleep(Duration::from_millis(self.caller.rng.random_range(1..400))).await;
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}

/// One that calls for a session, each time another server.
struct Caller {
    task: Task,
    id: String,
    rng: StdRng,
    /// By which the last Acquire was sent.
    last: Option<Wire>,
}

impl Caller {
    async fn wire(&mut self) -> Option<Wire> {
        let server = self.task.draw_server(&mut self.rng).parse().ok()?;
        timeout(PATIENCE, self.task.connector.connect(&server)).await.ok()?.ok()
    }

    /// Until when the session surely lives.
    fn acknowledged(&self, start: Duration, ttl: Duration) -> Duration {
        self.task.place.write(Entry::Renewal(Renewal { session: self.id.clone(), start, ttl }));
        start + ttl.mul_f64(MARGIN)
    }

    async fn open(&mut self, ttl: Duration) -> Option<Duration> {
        let request = OpenSessionRequest {
            session_id: self.id.clone(),
            ttl: ttl.try_into().ok(),
            ..OpenSessionRequest::default()
        };
        let wire = self.wire().await?;
        let start = self.task.place.now();
        let answer = timeout(PATIENCE, SessionServiceClient::new(wire).open_session(request)).await.ok()?.ok()?;
        Some(self.acknowledged(start, answer.into_inner().session?.ttl?.try_into().ok()?))
    }

    async fn renew(&mut self) -> Option<Duration> {
        let wire = self.wire().await?;
        self.renew_by(wire).await
    }

    async fn renew_by(&self, wire: Wire) -> Option<Duration> {
        let request = RenewRequest { session_id: self.id.clone(), ..RenewRequest::default() };
        let start = self.task.place.now();
        let answer = timeout(PATIENCE, SessionServiceClient::new(wire).renew(request)).await.ok()?.ok()?;
        Some(self.acknowledged(start, answer.into_inner().ttl?.try_into().ok()?))
    }

    async fn acquire(&mut self, name: &str, wait: Duration, patience: Duration) -> Outcome {
        let start = self.task.place.now();
        let request = AcquireRequest {
            names: vec![name.to_owned()],
            session_id: self.id.clone(),
            wait: wait.try_into().ok(),
            ..AcquireRequest::default()
        };
        self.last = self.wire().await;
        let outcome = match self.last.clone() {
            None => Outcome::Unknown("no connection".to_owned()),
            Some(wire) => match timeout(patience, LockServiceClient::new(wire).acquire(request)).await {
                Ok(Ok(answer)) => match answer.into_inner() {
                    answer if answer.acquired => Outcome::Acquired(answer.token),
                    _ => Outcome::Busy,
                },
                Ok(Err(status)) => Outcome::Unknown(status.to_string()),
                Err(_) => Outcome::Unknown("not waited for any more".to_owned()),
            },
        };
        self.note(name, CallKind::PlainAcquire, start, outcome.clone());
        outcome
    }

    /// Whether the server has received the last Acquire: it answers what was sent after that on the same connection.
    async fn is_received(&mut self) -> bool {
        match self.last.take() {
            Some(wire) => self.renew_by(wire).await.is_some(),
            None => false,
        }
    }

    /// Cancels an Acquire. Says whether that was acknowledged, and none that was sent before may arrive later, and
    /// cancel what is asked for then.
    async fn cancel(&mut self, name: &str) -> bool {
        let mut is_last = true;
        for _ in 0..CANCELS {
            let start = self.task.place.now();
            let request = CancelAcquireRequest {
                names: vec![name.to_owned()],
                session_id: self.id.clone(),
                ..CancelAcquireRequest::default()
            };
            let Some(wire) = self.wire().await else { continue };
            if let Ok(Ok(_)) = timeout(PATIENCE, LockServiceClient::new(wire).cancel_acquire(request)).await {
                self.note(name, CallKind::Cancel, start, Outcome::Done);
                return is_last;
            }
            is_last = false;
        }
        false
    }

    /// Gives a hold back. Says whether that was acknowledged.
    async fn release(&mut self, name: &str, token: u64) -> bool {
        let start = self.task.place.now();
        let (session_id, name) = (self.id.clone(), name.to_owned());
        let request = ReleaseRequest { name: name.clone(), session_id, token, ..ReleaseRequest::default() };
        let Some(wire) = self.wire().await else { return false };
        let is_released = matches!(timeout(PATIENCE, LockServiceClient::new(wire).release(request)).await, Ok(Ok(_)));
        if is_released {
            self.note(&name, CallKind::Release(token), start, Outcome::Done);
        }
        is_released
    }

    fn note(&self, name: &str, kind: CallKind, start: Duration, outcome: Outcome) {
        let (session, names, end) = (self.id.clone(), vec![name.to_owned()], self.task.place.now());
        self.task.place.write(Entry::Call(Call { session, names, kind, start, end, outcome }));
    }
}
