//! Connections with little traffic.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::interval;

use super::{BYTES, MEMORY, TTL};
use crate::cpu::{Meter, Processes, server_memory};
use crate::measure::{Figures, Load};
use crate::target::http2::Connection;

/// The number of connections that are prepared concurrently.
const AT_ONCE: usize = 16;

/// The limit of preparing one more connection.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A connection with its sessions, which already hold their locks.
pub struct IdleConnection {
    /// The connection.
    pub connection: Connection,
    /// The stream of the renewals.
    pub stream: u32,
    /// The messages that renew all sessions, spread over the interval.
    pub renewals: Vec<Vec<u8>>,
    /// The interval in which each session is renewed.
    pub every: Duration,
    /// The number of sessions that each message renews.
    pub renews: usize,
    /// Validates an answer.
    pub check: fn(&[u8]) -> anyhow::Result<()>,
}

/// Prepares connections with this number of sessions each, and measures the servers while only renewals are sent.
pub async fn observe<F: Future<Output = anyhow::Result<IdleConnection>> + Send + 'static>(
    load: &Load,
    processes: &Processes,
    on_one: usize,
    prepare: impl Fn(usize) -> F,
) -> anyhow::Result<Figures> {
    let (empty, opening) = (server_memory(processes), Instant::now());
    let renewed = Arc::new(AtomicUsize::new(0));
    let (ready, mut prepared) = mpsc::unbounded_channel();
    let (turns, mut tasks) = (Arc::new(Semaphore::new(AT_ONCE)), JoinSet::new());
    let connections = load.level / on_one;
    for connection in 0..connections {
        let (idle, turns) = (prepare(connection), Arc::clone(&turns));
        let (ready, renewed) = (ready.clone(), Arc::clone(&renewed));
        tasks.spawn(async move {
            let idle = {
                let _turn = turns.acquire().await?;
                idle.await?
            };
            // The receiver is dropped if another connection failed.
            let _ = ready.send(());
            renew(idle, &renewed).await
        });
    }
    for _ in 0..connections {
        tokio::select! {
            biased;
            Some(ended) = tasks.join_next() => ended??,
            Some(()) = prepared.recv() => {}
            () = tokio::time::sleep(TIMEOUT) => bail!("not all sessions were opened in time"),
        }
    }
    // The opened sessions are still being written to the tables, and the memory for that is still to be freed.
    tokio::time::sleep(if load.quick { load.warm_up } else { opening.elapsed().max(TTL) }).await;
    let (meter, start, before) = (Meter::start(processes), Instant::now(), renewed.load(Ordering::Relaxed));
    // Each session is renewed twice.
    tokio::time::sleep(if load.quick { load.time } else { TTL * 2 / 3 }).await;
    let (usage, wall) = (meter.usage(), start.elapsed());
    if let Some(ended) = tasks.try_join_next() {
        ended?.context("a connection broke")?;
    }
    let rate = (renewed.load(Ordering::Relaxed) - before) as f64 / wall.as_secs_f64();
    let memory = usage.server_memory;
    let figures = Figures { rate: Some(rate), usage, ..Figures::default() };
    Ok(figures.with(MEMORY, memory).with(BYTES, (memory * 1e6 - empty) / load.level as f64))
}

/// Renews until a renewal fails or the future is dropped.
async fn renew(idle: IdleConnection, renewed: &AtomicUsize) -> anyhow::Result<()> {
    let IdleConnection { mut connection, stream, renewals, every, renews, check } = idle;
    let mut tick = interval(every / renewals.len().max(1) as u32);
    let mut next = renewals.iter().cycle();
    loop {
        tokio::select! {
            _ = tick.tick() => {
                if let Some(renewal) = next.next() {
                    connection.output().message(stream, renewal);
                }
            }
            received = connection.receive(|_, message, _| {
                check(message)?;
                renewed.fetch_add(renews, Ordering::Relaxed);
                Ok(())
            }) => received?,
        }
    }
}
