//! A program that uses locks through the client library, in its own sessions.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use tenure_checker::{Call, CallKind, Entry, LostSession, Outcome, Sharing, ValidHold, ValidSession, Wait};
use tenure_client::{Attempt, Client, Guard, Session, SessionOptions};
use tokio::time::{Instant, sleep};

use crate::Task;
use crate::draw::{HoldEnd, LockRequest, SessionParameters, draw_check_interval, draw_hold_time};

/// A program that uses locks.
pub struct Worker {
    /// The client.
    pub client: Client,
    /// The task.
    pub task: Task,
    /// Source of random choices.
    pub rng: StdRng,
}

impl Worker {
    /// Runs until the task's time is over.
    pub async fn run(mut self) {
        while self.task.environment.may_continue() {
            let parameters = SessionParameters::draw(&mut self.rng, &self.task.options);
            let mut options = SessionOptions::new().ttl(parameters.ttl);
            if let Some(grace) = parameters.grace {
                options = options.disconnect_grace(grace);
            }
            let Ok(session) = self.client.session(options).await else {
                self.task.pause().await;
                continue;
            };
            for _ in 0..self.rng.random_range(1..6) {
                if !self.task.environment.may_continue() || !session.is_valid() {
                    break;
                }
                self.use_lock(&session).await;
                sleep(Duration::from_millis(self.rng.random_range(0..100))).await;
            }
            if !session.is_valid() {
                let lost = LostSession { session: session.id().to_owned(), at: self.task.environment.now() };
                self.task.environment.write(Entry::LostSession(lost));
            }
            if self.rng.random() {
                let _ = session.close().await;
            }
        }
    }

    /// Tries to acquire locks and to hold them for a while.
    async fn use_lock(&mut self, session: &Session) {
        let LockRequest { names, sharing, priority, wait } = LockRequest::draw(&mut self.rng, self.task.locks);
        let request = session.locks(&names).priority(priority);
        let request = match sharing {
            Sharing::Exclusive => request,
            Sharing::Shared => request.shared(),
            Sharing::Permits(limit) => request.permits(1).limit(limit),
        };
        let start = self.task.environment.now();
        let (guard, outcome) = match request.acquire_within(wait).await {
            Ok(Attempt::Acquired(guard)) => {
                let token = guard.token();
                (Some(guard), Outcome::Acquired(token))
            }
            Ok(Attempt::Busy(_)) => (None, Outcome::Busy),
            Err(error) => (None, Outcome::Unknown(error.to_string())),
        };
        let until = start + wait;
        self.task.environment.write(Entry::Wait(Wait { session: session.id().to_owned(), start, until }));
        self.record(session.id(), &names, CallKind::Acquire(sharing), start, outcome);
        if let Some(guard) = guard {
            self.work(guard, sharing).await;
        }
    }

    /// Holds the locks while they are valid, and then releases, transfers or drops the hold.
    async fn work(&mut self, guard: Guard, sharing: Sharing) {
        let (names, token, session) = (guard.names().to_vec(), guard.token(), guard.session().id().to_owned());
        let until = Instant::now() + draw_hold_time(&mut self.rng, &self.task.options);
        while Instant::now() < until {
            // Read the time before the hold is checked: the process may be frozen in between.
            let (at, now) = (self.task.environment.now(), std::time::Instant::now());
            let valid_for = guard.session().valid_until().saturating_duration_since(now);
            if !guard.is_valid() {
                return;
            }
            let valid = ValidSession { session: session.clone(), until: at + valid_for };
            self.task.environment.write(Entry::ValidSession(valid));
            self.task.environment.write(Entry::ValidHold(ValidHold { at, names: names.clone(), token, sharing }));
            sleep(draw_check_interval(&mut self.rng)).await;
        }
        let start = self.task.environment.now();
        let (kind, ended) = match HoldEnd::draw(&mut self.rng) {
            HoldEnd::Drop => return,
            HoldEnd::Transfer => (CallKind::Transfer(token), guard.transfer_to(None).await.map(drop)),
            HoldEnd::Release => (CallKind::Release(token), guard.release().await),
        };
        let outcome = ended.map_or_else(|error| Outcome::Unknown(error.to_string()), |()| Outcome::Done);
        self.record(&session, &names, kind, start, outcome);
    }

    fn record(&self, session: &str, names: &[String], kind: CallKind, start: Duration, outcome: Outcome) {
        let (session, names) = (session.to_owned(), names.to_vec());
        let end = self.task.environment.now();
        self.task.environment.write(Entry::Call(Call { session, names, kind, start, end, outcome }));
    }
}
