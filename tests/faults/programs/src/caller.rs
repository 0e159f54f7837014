//! A client without the library: plain calls to any server, without precautions. It tests the promises of the servers
//! in cases where the library would be careful.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tenure_checker::{Entry, Renewal};
use tenure_client::transport::Wire;
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::session_service_client::SessionServiceClient;
use tenure_proto::v1::{AcquireRequest, ReleaseRequest, RenewRequest};
use tokio::time::{sleep, timeout};

use crate::Task;

/// Response timeout.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Prefix of error messages which state that nothing was changed.
const UNCHANGED: &str = "the database cannot be reached";

/// The lock that is reserved for these callers.
const NAME: &str = "plain/lock";

/// Runs until the task's time is over.
pub async fn run(task: Task, mut rng: StdRng) {
    let mut count = 0;
    while task.environment.may_continue() {
        count += 1;
        let session = format!("caller-{}-{count}", task.name);
        let ttl = Duration::from_millis(rng.random_range(400..2_000));
        let preferred = task.draw_server(&mut rng);
        let mut caller = Caller { task: &task, rng: StdRng::from_rng(&mut rng), preferred };
        let token = caller.acquire(&session, ttl).await;
        loop {
            sleep(ttl.mul_f64(rng.random_range(0.1..1.3))).await;
            if !task.environment.may_continue() || !caller.renew(&session).await {
                break;
            }
        }
        // The hold may have been lost long before.
        if let Some((token, wire)) = token.zip(caller.wire().await) {
            let request =
                ReleaseRequest { name: NAME.to_owned(), session_id: session, token, ..ReleaseRequest::default() };
            let _ = timeout(TIMEOUT, LockServiceClient::new(wire).release(request)).await;
        }
    }
}

/// The calls of one session.
struct Caller<'a> {
    task: &'a Task,
    rng: StdRng,
    /// The server that it calls most of the time.
    preferred: &'a str,
}

impl Caller<'_> {
    async fn wire(&mut self) -> Option<Wire> {
        let any = self.task.draw_server(&mut self.rng);
        let server = if self.rng.random_range(0..5) == 0 { any } else { self.preferred };
        self.task.connector.connect(&server.parse().ok()?).await.ok()
    }

    /// Acquires the lock in a new session, if it is free. Returns the token.
    async fn acquire(&mut self, session: &str, ttl: Duration) -> Option<u64> {
        let wire = self.wire().await?;
        let waits: bool = self.rng.random();
        let wait = Duration::from_millis(if waits { self.rng.random_range(0..800) } else { 0 });
        let request = AcquireRequest {
            names: vec![NAME.to_owned()],
            session_id: session.to_owned(),
            ttl: ttl.try_into().ok(),
            wait: wait.try_into().ok(),
            ..AcquireRequest::default()
        };
        match timeout(TIMEOUT, LockServiceClient::new(wire).acquire(request)).await {
            Ok(Ok(answer)) => Some(answer.into_inner()).filter(|answer| answer.acquired).map(|answer| answer.token),
            Ok(Err(status)) => {
                // An Acquire that waits may be rejected after it has joined the queue.
                if !waits && status.message().starts_with(UNCHANGED) {
                    self.task.environment.write(Entry::Rejected(session.to_owned()));
                }
                None
            }
            Err(_) => None,
        }
    }

    /// Renews the session. Returns whether it may be renewed again.
    async fn renew(&mut self, session: &str) -> bool {
        let Some(wire) = self.wire().await else { return true };
        let start = self.task.environment.now();
        let request = RenewRequest { session_id: session.to_owned(), ..RenewRequest::default() };
        match timeout(TIMEOUT, SessionServiceClient::new(wire).renew(request)).await {
            Ok(Ok(answer)) => {
                let ttl = answer.into_inner().ttl.and_then(|ttl| ttl.try_into().ok()).unwrap_or_default();
                self.task.environment.write(Entry::Renewal(Renewal { session: session.to_owned(), start, ttl }));
                true
            }
            Ok(Err(status)) => status.code() == tonic::Code::Unavailable,
            Err(_) => true,
        }
    }
}
