//! Streams that send the next renewal as soon as the last is answered.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::cpu::{Meter, Processes};
use crate::measure::{Figures, Latency, Load};
use crate::target::http2::Connection;

/// The limit of the wait for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A connection, with the renewal that each of its streams sends.
pub struct Asking {
    /// The connection.
    pub connection: Connection,
    /// The message of each stream.
    pub streams: HashMap<u32, Vec<u8>>,
    /// Validates an answer.
    pub check: fn(&[u8]) -> anyhow::Result<()>,
}

const WARMING_UP: u8 = 0;
const COUNTING: u8 = 1;
const OVER: u8 = 2;

/// Sends renewals on all streams, and measures them: for the given time, and until there is at least one answer.
pub async fn flood(load: &Load, processes: &Processes, all: Vec<Asking>) -> anyhow::Result<Figures> {
    let (phase, first) = (Arc::new(AtomicU8::new(WARMING_UP)), Arc::new(Notify::new()));
    let mut tasks = JoinSet::new();
    for asking in all {
        let (phase, first) = (Arc::clone(&phase), Arc::clone(&first));
        tasks.spawn(async move {
            let done = ask(asking, phase, Arc::clone(&first)).await;
            first.notify_one();
            done
        });
    }
    tokio::time::sleep(load.warm_up).await;
    let (meter, start) = (Meter::start(processes), Instant::now());
    phase.store(COUNTING, Ordering::Relaxed);
    tokio::time::sleep(load.time).await;
    // Failures are returned when the tasks are joined.
    let _ = tokio::time::timeout(PATIENCE, first.notified()).await;
    phase.store(OVER, Ordering::Relaxed);
    let (wall, usage) = (start.elapsed(), meter.usage());
    let mut times = Vec::new();
    for done in tasks.join_all().await {
        times.extend(done?);
    }
    ensure!(!times.is_empty(), "nothing was answered within {wall:?}");
    let rate = Some(times.len() as f64 / wall.as_secs_f64());
    Ok(Figures { rate, latency: Latency::of(times), usage, ..Figures::default() })
}

/// Runs one connection. Notifies `first` of its first counted answer.
async fn ask(asking: Asking, phase: Arc<AtomicU8>, first: Arc<Notify>) -> anyhow::Result<Vec<Duration>> {
    let Asking { mut connection, streams, check } = asking;
    let mut asked: HashMap<u32, Instant> = HashMap::new();
    for (stream, message) in &streams {
        connection.output().message(*stream, message);
        asked.insert(*stream, Instant::now());
    }
    let mut times = Vec::new();
    while !asked.is_empty() {
        let receive = connection.receive(|stream, message, output| {
            check(message)?;
            let (now, phase) = (Instant::now(), phase.load(Ordering::Relaxed));
            if let Some(since) = asked.remove(&stream).filter(|_| phase == COUNTING) {
                if times.is_empty() {
                    first.notify_one();
                }
                times.push(now - since);
            }
            if phase != OVER {
                output.message(stream, &streams[&stream]);
                asked.insert(stream, now);
            }
            Ok(())
        });
        tokio::time::timeout(PATIENCE, receive).await.context("no answer")??;
    }
    Ok(times)
}
