//! A program that uses locks through the client library, in its own sessions.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use tenure_checker::{Call, CallKind, Entry, Outcome, Sharing, ValidHold};
use tenure_client::{Attempt, Client, Guard, Session, SessionOptions};
use tokio::time::{Instant, sleep};

use crate::Task;
use crate::draw::{Ending, Presence, Turn, draw_look, draw_work};

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
        while self.task.place.is_time() {
            let presence = Presence::draw(&mut self.rng, &self.task.habits);
            let mut options = SessionOptions::new().ttl(presence.ttl);
            if let Some(grace) = presence.grace {
                options = options.disconnect_grace(grace);
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

    /// Tries to acquire locks and to hold them for a while.
    async fn take_turn(&mut self, session: &Session) {
        let Turn { names, sharing, priority, wait } = Turn::draw(&mut self.rng, self.task.locks);
        let request = session.locks(&names).priority(priority);
        let request = match sharing {
            Sharing::Exclusive => request,
            Sharing::Shared => request.shared(),
            Sharing::Permits(limit) => request.permits(1).limit(limit),
        };
        let start = self.task.place.now();
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

    /// Holds the locks while they are valid, and then releases, transfers or drops the hold.
    async fn work(&mut self, guard: Guard, sharing: Sharing) {
        let (names, token, session) = (guard.names().to_vec(), guard.token(), guard.session().id().to_owned());
        let until = Instant::now() + draw_work(&mut self.rng, &self.task.habits);
        while Instant::now() < until {
            // Read the time before the hold is checked: the process may be frozen in between.
            let at = self.task.place.now();
            if !guard.is_valid() {
                return;
            }
            self.task.place.write(Entry::ValidHold(ValidHold { at, names: names.clone(), token, sharing }));
            sleep(draw_look(&mut self.rng)).await;
        }
        let start = self.task.place.now();
        let (kind, ended) = match Ending::draw(&mut self.rng) {
            Ending::Drop => return,
            Ending::Transfer => (CallKind::Transfer(token), guard.transfer_to(None).await.map(drop)),
            Ending::Release => (CallKind::Release(token), guard.release().await),
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
