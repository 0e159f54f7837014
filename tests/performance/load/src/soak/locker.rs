//! A program that acquires locks of all kinds, in its own sessions, and releases them in all ways.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use tenure_chaos::now;
use tenure_checker::{CallKind, Entry, Outcome, Sharing, ValidHold};
use tenure_client::{Attempt, Client, Guard, Session, SessionOptions};
use tokio::time::{Interval, MissedTickBehavior, interval, sleep};

use super::task::Task;

/// The number of locks.
const LOCKS: u32 = 64;

/// The ranges of wait and hold times, in ms.
const WAITS: std::ops::Range<u64> = 0..500;
const HOLDS: std::ops::Range<u64> = 1..60;

/// The number of turns per session.
const TURNS: std::ops::Range<u32> = 1..30;

/// Runs until the task is over, with one turn per `pace`.
pub async fn run(client: Client, task: Task, rng: StdRng, pace: Duration) {
    let mut pace = interval(pace);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut locker = Locker { client, task, rng };
    while locker.task.is_running() {
        locker.use_a_session(&mut pace).await;
    }
}

struct Locker {
    client: Client,
    task: Task,
    rng: StdRng,
}

impl Locker {
    async fn use_a_session(&mut self, pace: &mut Interval) {
        pace.tick().await;
        let mut options = SessionOptions::new().ttl(Duration::from_secs(self.rng.random_range(4..10))).owner("soak");
        if self.rng.random_range(0..4) == 0 {
            options = options.disconnect_grace(Duration::from_secs(3));
        }
        let Some(session) = self.task.counted("sessions opened", self.client.session(options).await) else { return };
        for _ in 0..self.rng.random_range(TURNS) {
            if !self.task.is_running() {
                break;
            }
            self.take_turn(&session).await;
            pace.tick().await;
        }
        // Otherwise the session ends by being dropped.
        if self.rng.random() {
            self.task.counted("sessions closed", session.close().await);
        }
    }

    /// Chooses locks, and how they are shared.
    fn choose(&mut self) -> (Vec<String>, Sharing) {
        let number = self.rng.random_range(0..LOCKS);
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

    async fn take_turn(&mut self, session: &Session) {
        let (names, sharing) = self.choose();
        let request = session.locks(&names).priority(i32::from(self.rng.random_range(0..8) == 0));
        let request = match sharing {
            Sharing::Exclusive => request.metadata("turn", self.rng.random_range(0..1_000_u32).to_string()),
            Sharing::Shared => request.shared(),
            Sharing::Permits(limit) => request.permits(1).limit(limit),
        };
        let (start, wait) = (now(), Duration::from_millis(self.rng.random_range(WAITS)));
        let attempt = request.acquire_within(wait).await;
        let outcome = match &attempt {
            Ok(Attempt::Acquired(guard)) => Outcome::Acquired(guard.token()),
            Ok(Attempt::Busy(_)) => Outcome::Busy,
            Err(error) => Outcome::Unknown(error.to_string()),
        };
        self.task.write(session.id(), &names, CallKind::Acquire(sharing), start, outcome);
        match self.task.counted("acquire calls", attempt) {
            Some(Attempt::Acquired(guard)) => self.hold(guard, sharing).await,
            Some(Attempt::Busy(_)) => self.task.count("waits without a grant"),
            None => {}
        }
    }

    /// Holds for a while, then releases, hands over, or drops the guard.
    async fn hold(&mut self, guard: Guard, sharing: Sharing) {
        self.record_valid_hold(&guard, sharing);
        sleep(Duration::from_millis(self.rng.random_range(HOLDS))).await;
        self.record_valid_hold(&guard, sharing);
        let (names, token, session) = (guard.names().to_vec(), guard.token(), guard.session().id().to_owned());
        let start = now();
        let (kind, ended) = match self.rng.random_range(0..8) {
            0 => return self.task.count("holds dropped"),
            1 => {
                let handed = guard.transfer_to(None).await;
                (CallKind::Transfer(token), self.task.counted("holds handed over", handed).map(drop))
            }
            _ => (CallKind::Release(token), self.task.counted("holds released", guard.release().await)),
        };
        let outcome = ended.map_or_else(|| Outcome::Unknown("rejected".to_owned()), |()| Outcome::Done);
        self.task.write(&session, &names, kind, start, outcome);
    }

    /// Records that the hold is valid, which it must be.
    fn record_valid_hold(&self, guard: &Guard, sharing: Sharing) {
        // Taken before the hold is checked.
        let at = now();
        match guard.lost_reason() {
            None => {
                let hold = ValidHold { at, names: guard.names().to_vec(), token: guard.token(), sharing };
                self.task.recorder.write(Entry::ValidHold(hold));
            }
            Some(reason) => *self.task.notes().wrong.entry(format!("a hold is lost: {reason}")).or_default() += 1,
        }
    }
}
