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
const TIMEOUT: Duration = Duration::from_secs(30);

/// A connection, with the renewal that each of its streams sends.
pub struct Renewals {
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
pub async fn flood(load: &Load, processes: &Processes, all: Vec<Renewals>) -> anyhow::Result<Figures> {
    let (phase, first) = (Arc::new(AtomicU8::new(WARMING_UP)), Arc::new(Notify::new()));
    let mut tasks = JoinSet::new();
    for renewals in all {
        let (phase, first) = (Arc::clone(&phase), Arc::clone(&first));
        tasks.spawn(async move {
            let done = run(renewals, phase, Arc::clone(&first)).await;
            first.notify_one();
            done
        });
    }
    tokio::time::sleep(load.warm_up).await;
    let (meter, start) = (Meter::start(processes), Instant::now());
    phase.store(COUNTING, Ordering::Relaxed);
    tokio::time::sleep(load.time).await;
    // Failures are returned when the tasks are joined.
    let _ = tokio::time::timeout(TIMEOUT, first.notified()).await;
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
async fn run(renewals: Renewals, phase: Arc<AtomicU8>, first: Arc<Notify>) -> anyhow::Result<Vec<Duration>> {
    let Renewals { mut connection, streams, check } = renewals;
    let mut sent: HashMap<u32, Instant> = HashMap::new();
    for (stream, message) in &streams {
        connection.output().message(*stream, message);
        sent.insert(*stream, Instant::now());
    }
    let mut times = Vec::new();
    while !sent.is_empty() {
        let receive = connection.receive(|stream, message, output| {
            check(message)?;
            let (now, phase) = (Instant::now(), phase.load(Ordering::Relaxed));
            if let Some(since) = sent.remove(&stream).filter(|_| phase == COUNTING) {
                if times.is_empty() {
                    first.notify_one();
                }
                times.push(now - since);
            }
            if phase != OVER {
                output.message(stream, &streams[&stream]);
                sent.insert(stream, now);
            }
            Ok(())
        });
        tokio::time::timeout(TIMEOUT, receive).await.context("no answer")??;
    }
    Ok(times)
}
