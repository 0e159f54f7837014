//! Passes the lock from client to client, in the same way for all targets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::cpu::{Meter, Processes};
use crate::measure::{Figures, Latency, Load};

/// How long the lock is held: until the previous holder has queued up again, and the system is idle.
const HOLD: Duration = Duration::from_millis(3);

/// The time allowed to queue up, per client.
const QUEUEING: Duration = Duration::from_millis(2);

/// The limit of the wait until all have had their last turn.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A client that acquires and releases the lock repeatedly.
pub trait Contender: Send + 'static {
    /// Waits for the lock.
    fn acquire(&mut self) -> impl Future<Output = anyhow::Result<()>> + Send;
    /// Releases the lock.
    fn release(&mut self) -> impl Future<Output = anyhow::Result<()>> + Send;
}

const WARMING_UP: u8 = 0;
const COUNTING: u8 = 1;
const OVER: u8 = 2;

struct State {
    phase: AtomicU8,
    start: Instant,
    /// When the last release was sent, in nanoseconds after the start. 0: not yet.
    released: AtomicU64,
    /// Notified when a handover was counted, or a contender failed.
    counted: Notify,
}

/// Rotates the lock and measures each handover: for the given time, and until there is at least one. Returns the
/// clients.
pub async fn relay<C: Contender>(
    load: &Load,
    processes: &Processes,
    contenders: Vec<C>,
) -> anyhow::Result<(Figures, Vec<C>)> {
    let count = contenders.len();
    let phase = AtomicU8::new(WARMING_UP);
    let (released, counted) = (AtomicU64::new(0), Notify::new());
    let state = Arc::new(State { phase, start: Instant::now(), released, counted });
    let mut tasks = JoinSet::new();
    for contender in contenders {
        let state = Arc::clone(&state);
        tasks.spawn(async move {
            let done = run(contender, Arc::clone(&state)).await;
            state.counted.notify_one();
            done
        });
    }
    tokio::time::sleep(load.warm_up + QUEUEING * count as u32).await;
    let meter = Meter::start(processes);
    state.phase.store(COUNTING, Ordering::Relaxed);
    tokio::time::sleep(load.time).await;
    // Failures are returned when the tasks are joined.
    let _ = tokio::time::timeout(TIMEOUT, state.counted.notified()).await;
    state.phase.store(OVER, Ordering::Relaxed);
    let usage = meter.usage();
    let (mut contenders, mut times) = (Vec::new(), Vec::new());
    let gather = async {
        while let Some(done) = tasks.join_next().await {
            let (contender, own) = done??;
            contenders.push(contender);
            times.extend(own);
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(TIMEOUT, gather).await.context("a client does not acquire the lock")??;
    ensure!(!times.is_empty(), "there was no handover");
    let figures = Figures { latency: Latency::of(times), usage, ..Figures::default() };
    Ok((figures, contenders))
}

/// Runs one client. Returns its waits for counted handovers.
async fn run<C: Contender>(mut contender: C, state: Arc<State>) -> anyhow::Result<(C, Vec<Duration>)> {
    let mut times = Vec::new();
    loop {
        contender.acquire().await?;
        let now = state.now();
        let released = state.released.load(Ordering::Acquire);
        let phase = state.phase.load(Ordering::Relaxed);
        if phase == COUNTING && released > 0 {
            state.counted.notify_one();
            times.push(Duration::from_nanos(now - released));
        }
        if phase == OVER {
            contender.release().await?;
            return Ok((contender, times));
        }
        tokio::time::sleep(HOLD).await;
        state.released.store(state.now(), Ordering::Release);
        contender.release().await?;
    }
}

impl State {
    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }
}
