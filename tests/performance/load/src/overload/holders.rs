//! Well-behaved clients: each acquires a lock before the overload, and only renews its session. They run on their own
//! thread, so that the flood competes with them only for the server.

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
const SAMPLE: Duration = Duration::from_millis(20);

/// The state of the holders that other parts of the run observe.
#[derive(Clone, Debug, Default)]
pub struct HolderState {
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

impl HolderState {
    /// Returns whether the holders are to continue.
    pub fn is_running(&self) -> bool {
        !self.is_over.load(Ordering::SeqCst)
    }
}

/// The outcome of the holders.
#[derive(Debug, Default)]
pub struct Outcome {
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
    pub state: HolderState,
    thread: JoinHandle<anyhow::Result<Outcome>>,
}

impl Holders {
    /// The number of holders.
    pub const COUNT: usize = CLIENTS * EACH;

    /// Starts them, and waits until each holds its lock.
    ///
    /// # Errors
    /// If a holder does not get its lock.
    pub async fn start(url: String, ttl: Duration) -> anyhow::Result<Self> {
        let (state, (ready, all_hold)) = (HolderState { ttl, ..HolderState::default() }, oneshot::channel());
        let shared = state.clone();
        let thread = thread::Builder::new().name("holders".to_owned()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(run(&url, &shared, ready))
        })?;
        if all_hold.await.is_err() {
            return Err(end_of(thread).err().unwrap_or_else(|| anyhow!("the holders ended")));
        }
        Ok(Self { state, thread })
    }

    /// Returns the durations of renewals since the last call, and the minimum remaining validity of a session, in ms.
    pub fn take_samples(&self) -> (Latency, f64) {
        let least = self.state.left.take();
        // The samples are the elapsed part of the TTL.
        (self.state.renewals.take(), self.state.ttl.as_secs_f64() * 1e3 - least.max)
    }

    /// Makes the holders release their locks, and returns their outcome.
    ///
    /// # Errors
    /// If they could not continue.
    pub async fn end(self) -> anyhow::Result<Outcome> {
        self.state.is_over.store(true, Ordering::SeqCst);
        tokio::task::spawn_blocking(|| end_of(self.thread)).await?
    }
}

fn end_of(thread: JoinHandle<anyhow::Result<Outcome>>) -> anyhow::Result<Outcome> {
    thread.join().map_err(|_| anyhow!("the holders panicked"))?
}

async fn run(url: &str, state: &HolderState, ready: oneshot::Sender<()>) -> anyhow::Result<Outcome> {
    let mut clients = Vec::new();
    let mut guards: Vec<Guard> = Vec::new();
    for client in 0..CLIENTS {
        let connected = Client::connect(url)?;
        for number in 0..EACH {
            let session = connected.session(SessionOptions::new().ttl(state.ttl)).await.context("opening a session")?;
            guards.push(session.lock(format!("held/{client}/{number}")).acquire().await.context("acquiring a lock")?);
        }
        clients.push(connected);
    }
    let mut probes = JoinSet::new();
    probes.spawn(probe(url.to_owned(), state.clone()));
    let calls = tokio::spawn(call(url.to_owned(), state.clone()));
    // Fails only if the starting task has ended.
    let _ = ready.send(());
    let mut outcome = Outcome {
        sessions: guards.iter().map(|guard| guard.session().id().to_owned()).collect(),
        ..Outcome::default()
    };
    while state.is_running() {
        let now = Instant::now().into_std();
        let left = guards.iter().map(|guard| guard.session().valid_until().saturating_duration_since(now)).min();
        state.left.add(state.ttl.saturating_sub(left.unwrap_or_default()));
        if let Some(ended) = probes.try_join_next() {
            ended??;
        }
        sleep(SAMPLE).await;
    }
    for guard in guards {
        let (names, token) = (guard.names().to_vec(), guard.token());
        if let Some(reason) = guard.lost_reason() {
            outcome.lost.push(format!("{names:?} with token {token}: {reason}"));
        } else if let Err(error) = guard.release().await {
            outcome.lost.push(format!("{names:?} with token {token} cannot be released: {error}"));
        }
    }
    while let Some(ended) = probes.join_next().await {
        ended??;
    }
    outcome.calls = calls.await??;
    for client in clients {
        client.close().await.context("closing a client")?;
    }
    Ok(outcome)
}
