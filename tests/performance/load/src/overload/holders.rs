//! Well-behaved clients: each holds a lock from before the overload, and only keeps it. They run on their own thread,
//! so that the flood competes with them only for the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, anyhow};
use tenure_client::{Client, Guard, SessionOptions};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::callers::{Calls, call};
use super::probe::probe;
use crate::latency::{Latency, Times};

/// The number of clients, and of sessions per client.
const CLIENTS: usize = 3;
const EACH: usize = 100;

/// The interval at which the remaining validity of the sessions is sampled.
const LOOK: Duration = Duration::from_millis(20);

/// The state of the holders that other parts of the run observe.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The TTL of their sessions.
    pub ttl: Duration,
    /// The durations of renewals.
    pub renewals: Times,
    /// The elapsed part of the TTL of the session closest to its end, per sample.
    pub left: Times,
    /// Whether plain calls are to be made as well.
    pub calls: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
}

impl Seen {
    /// Returns whether the holders are to continue.
    pub fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::SeqCst)
    }
}

/// The outcome of the holders.
#[derive(Debug, Default)]
pub struct Fate {
    /// The ids of their sessions.
    pub sessions: Vec<String>,
    /// Losses, of which there should be none.
    pub lost: Vec<String>,
    /// The outcome of plain calls.
    pub calls: Calls,
}

/// All holders.
pub struct Holders {
    /// Their observable state.
    pub seen: Seen,
    thread: JoinHandle<anyhow::Result<Fate>>,
}

impl Holders {
    /// The number of holders.
    pub const COUNT: usize = CLIENTS * EACH;

    /// Starts them, and waits until each holds its lock.
    ///
    /// # Errors
    /// If a holder does not get its lock.
    pub async fn start(url: String, ttl: Duration) -> anyhow::Result<Self> {
        let (seen, (ready, all_hold)) = (Seen { ttl, ..Seen::default() }, oneshot::channel());
        let theirs = seen.clone();
        let thread = thread::Builder::new().name("holders".to_owned()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(live(&url, &theirs, ready))
        })?;
        if all_hold.await.is_err() {
            return Err(end_of(thread).err().unwrap_or_else(|| anyhow!("those who hold ended")));
        }
        Ok(Self { seen, thread })
    }

    /// Returns the durations of renewals since the last call, and the minimum remaining validity of a session, in ms.
    pub fn look(&self) -> (Latency, f64) {
        let least = self.seen.left.take();
        // The samples are the elapsed part of the TTL.
        (self.seen.renewals.take(), self.seen.ttl.as_secs_f64() * 1e3 - least.max)
    }

    /// Makes the holders release their locks, and returns their outcome.
    ///
    /// # Errors
    /// If they could not continue.
    pub async fn end(self) -> anyhow::Result<Fate> {
        self.seen.is_over.store(true, Ordering::SeqCst);
        tokio::task::spawn_blocking(|| end_of(self.thread)).await?
    }
}

fn end_of(thread: JoinHandle<anyhow::Result<Fate>>) -> anyhow::Result<Fate> {
    thread.join().map_err(|_| anyhow!("those who hold panicked"))?
}

async fn live(url: &str, seen: &Seen, ready: oneshot::Sender<()>) -> anyhow::Result<Fate> {
    let mut clients = Vec::new();
    let mut guards: Vec<Guard> = Vec::new();
    for client in 0..CLIENTS {
        let connected = Client::connect(url)?;
        for place in 0..EACH {
            let session = connected.session(SessionOptions::new().ttl(seen.ttl)).await.context("opening a session")?;
            guards.push(session.lock(format!("held/{client}/{place}")).acquire().await.context("taking a lock")?);
        }
        clients.push(connected);
    }
    let mut beside = JoinSet::new();
    beside.spawn(probe(url.to_owned(), seen.clone()));
    let calls = tokio::spawn(call(url.to_owned(), seen.clone()));
    // Fails only if the starting task has ended.
    let _ = ready.send(());
    let mut fate =
        Fate { sessions: guards.iter().map(|guard| guard.session().id().to_owned()).collect(), ..Fate::default() };
    while seen.goes_on() {
        let now = Instant::now().into_std();
        let left = guards.iter().map(|guard| guard.session().valid_until().saturating_duration_since(now)).min();
        seen.left.add(seen.ttl.saturating_sub(left.unwrap_or_default()));
        if let Some(ended) = beside.try_join_next() {
            ended??;
        }
        sleep(LOOK).await;
    }
    for guard in guards {
        let (names, token) = (guard.names().to_vec(), guard.token());
        if let Some(reason) = guard.lost_reason() {
            fate.lost.push(format!("{names:?} with token {token}: {reason}"));
        } else if let Err(error) = guard.release().await {
            fate.lost.push(format!("{names:?} with token {token} cannot be given back: {error}"));
        }
    }
    while let Some(ended) = beside.join_next().await {
        ended??;
    }
    fate.calls = calls.await??;
    for client in clients {
        client.close().await.context("closing a client")?;
    }
    Ok(fate)
}
