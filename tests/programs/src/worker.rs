//! A program that uses locks, in sessions of its own.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use tenure_checker::{Call, CallKind, Entry, Outcome, Sharing, Sighting};
use tenure_client::{Attempt, Client, Guard, Session, SessionOptions};
use tokio::time::{Instant, sleep};

use crate::Task;

/// Holds last less long than this, in ms ...
const LONG: u64 = 2_500;

/// ... or than this, where most are short.
const SHORT: u64 = 200;

/// One that uses locks.
pub struct Worker {
    /// By which it works.
    pub client: Client,
    /// What it has to do.
    pub task: Task,
    /// What it draws.
    pub rng: StdRng,
}

impl Worker {
    /// Runs until the task's time is over.
    pub async fn run(mut self) {
        while self.task.place.is_time() {
            let ttl = Duration::from_millis(self.rng.random_range(600..3_000));
            let mut options = SessionOptions::new().ttl(ttl);
            if self.rng.random_range(0..3) == 0 {
                let grace = self.rng.random_range(self.task.habits.graces.clone());
                options = options.disconnect_grace(Duration::from_millis(grace));
            }
            let Ok(session) = self.client.session(options).await else {
                self.task.pause().await;
                continue;
            };
            for _ in 0..self.rng.random_range(1..6) {
                if !self.task.place.is_time() || !session.is_valid() {
                    break;
                }
                self.take_turn(&session).await;
                sleep(Duration::from_millis(self.rng.random_range(0..100))).await;
            }
            if self.rng.random() {
                let _ = session.close().await;
            }
        }
    }

    /// Locks, and how they are shared.
    fn choose(&mut self) -> (Vec<String>, Sharing) {
        let number = self.rng.random_range(0..self.task.locks);
        match number % 4 {
            0 | 1 if self.rng.random_range(0..4) == 0 => {
                (vec![format!("lock/{number}"), format!("lock/{}", number ^ 1)], Sharing::Exclusive)
            }
            0 | 1 => (vec![format!("lock/{number}")], Sharing::Exclusive),
            2 if self.rng.random() => (vec![format!("book/{number}")], Sharing::Shared),
            2 => (vec![format!("book/{number}")], Sharing::Exclusive),
            _ => (vec![format!("pool/{number}")], Sharing::Permits(2)),
        }
    }

    /// Tries to hold something for a while.
    async fn take_turn(&mut self, session: &Session) {
        let (names, sharing) = self.choose();
        let request = session.locks(&names).priority(i32::from(self.rng.random_range(0..8) == 0));
        let request = match sharing {
            Sharing::Exclusive => request,
            Sharing::Shared => request.shared(),
            Sharing::Permits(limit) => request.permits(1).limit(limit),
        };
        let start = self.task.place.now();
        let wait = Duration::from_millis(self.rng.random_range(0..2_000));
        let (guard, outcome) = match request.acquire_within(wait).await {
            Ok(Attempt::Acquired(guard)) => {
                let token = guard.token();
                (Some(guard), Outcome::Acquired(token))
            }
            Ok(Attempt::Busy(_)) => (None, Outcome::Busy),
            Err(error) => (None, Outcome::Unknown(error.to_string())),
        };
        self.note(session.id(), &names, CallKind::Acquire(sharing), start, outcome);
        if let Some(guard) = guard {
            self.work(guard, sharing).await;
        }
    }

    /// Does something while the hold is valid, and gives it back, hands it over, or drops it.
    async fn work(&mut self, guard: Guard, sharing: Sharing) {
        let (names, token, session) = (guard.names().to_vec(), guard.token(), guard.session().id().to_owned());
        let is_short = self.task.habits.mostly_short && self.rng.random_range(0..4) > 0;
        let lasts = Duration::from_millis(self.rng.random_range(0..if is_short { SHORT } else { LONG }));
        let until = Instant::now() + lasts;
        while Instant::now() < until {
            // Before the hold is asked: a process may be frozen in between.
            let at = self.task.place.now();
            if !guard.is_valid() {
                return;
            }
            self.task.place.write(Entry::Sighting(Sighting { at, names: names.clone(), token, sharing }));
            sleep(Duration::from_millis(self.rng.random_range(1..150))).await;
        }
        let start = self.task.place.now();
        let (kind, ended) = match self.rng.random_range(0..8) {
            0 | 1 => return,
            2 => (CallKind::Transfer(token), guard.transfer_to(None).await.map(drop)),
            _ => (CallKind::Release(token), guard.release().await),
        };
        let outcome = ended.map_or_else(|error| Outcome::Unknown(error.to_string()), |()| Outcome::Done);
        self.note(&session, &names, kind, start, outcome);
    }

    fn note(&self, session: &str, names: &[String], kind: CallKind, start: Duration, outcome: Outcome) {
        let (session, names) = (session.to_owned(), names.to_vec());
        let end = self.task.place.now();
        self.task.place.write(Entry::Call(Call { session, names, kind, start, end, outcome }));
    }
}
