//! Those who behave: each holds a lock since before, and wants nothing but to keep it. They run apart, on a thread of their own,
//! so that whoever asks for too much takes nothing from them but what is the server's.

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

/// How many clients there are, and how many sessions each has.
const CLIENTS: usize = 3;
const EACH: usize = 100;

/// How often it is looked for how long the sessions are still valid.
const LOOK: Duration = Duration::from_millis(20);

/// What is to be known of them from elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The TTL of their sessions.
    pub ttl: Duration,
    /// How long renewals took.
    pub renewals: Times,
    /// For how long the session that was closest to its end was still valid, at each look.
    pub left: Times,
    /// Whether plain calls are to be made, too.
    pub calls: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
}

impl Seen {
    /// Whether they are to go on.
    pub fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::SeqCst)
    }
}

/// What became of them.
#[derive(Debug, Default)]
pub struct Fate {
    /// The ids of their sessions.
    pub sessions: Vec<String>,
    /// What was lost, of which there should be nothing.
    pub lost: Vec<String>,
    /// What plain calls came to.
    pub calls: Calls,
}

/// All of them.
pub struct Holders {
    /// What is seen of them.
    pub seen: Seen,
    thread: JoinHandle<anyhow::Result<Fate>>,
}

impl Holders {
    /// How many there are.
    pub const COUNT: usize = CLIENTS * EACH;

    /// Starts them, and waits until each holds its lock.
    ///
    /// # Errors
    /// If one does not get its lock.
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

    /// How long renewals took since the last time, and for how long a session was still valid at the least, in ms.
    pub fn look(&self) -> (Latency, f64) {
        let least = self.seen.left.take();
        // Noted is what was gone of the TTL.
        (self.seen.renewals.take(), self.seen.ttl.as_secs_f64() * 1e3 - least.max)
    }

    /// Has them give back what they hold. What became of them.
    ///
    /// # Errors
    /// If they could not go on.
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
    // Who has started them has gone if this fails.
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
