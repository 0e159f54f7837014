//! A killed server: the time until the sessions of its client are valid again by way of another server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use async_trait::async_trait;

use crate::cpu::{Meter, Processes, wait_until_idle};
use crate::lab::Lab;
use crate::measure::{Figures, Latency, Load};
use crate::target::start_now;
use crate::target::store::Store;
use crate::target::tenure::raw::Raw;
use crate::target::tenure::{Cluster, TTL};
use crate::work::{Candidate, Levels, Subject, Work};

/// The work.
pub fn work() -> Work {
    Work {
        name: "failover",
        title: "A client has so many sessions, which hold a lock each, at one of two servers on one database, which is \
                killed. One turn lasts from when its connection breaks until the client, which connects to the other \
                server at once, has the states of all sessions and locks from there. Events are counted until then, and \
                until the other server has taken over what is left of the killed one.",
        level: "sessions",
        levels: Levels::Own { full: &[1_000, 10_000], quick: &[100] },
        candidates: vec![Candidate::new("tenure-client-postgres", async |lab| Ok(Failover(lab)))],
        goals: Vec::new(),
    }
}

/// The id of the client.
const CLIENT: &str = "client-of-the-killed-server";

/// The limit of the failover.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The pause after an attempt to connect that failed.
const PAUSE: Duration = Duration::from_millis(10);

/// The time in which the other server detects the failure, which takes a server lease (10 s), and completes the
/// takeover.
const TAKEOVER: Duration = Duration::from_secs(15);

struct Failover(Arc<Lab>);

#[async_trait]
impl Subject for Failover {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        let mut cluster = start_now(async { Cluster::start(Store::Postgres.fresh(&self.0).await?, 2, &[]).await })?;
        let other = cluster.servers().last().context("no server")?;
        let (port, processes) =
            (other.port(), Processes { server: other.process_id().into_iter().collect(), ..cluster.processes() });
        let mut raw = Raw::open(cluster.port()?).await?;
        let stream = raw.begin(CLIENT);
        raw.declare_holders(stream, "failover", load.level, TTL).await?;
        let client = tokio::spawn(fail_over(raw, port));
        // The opened sessions are in the log, and are written to the tables later.
        wait_until_idle(&cluster.processes()).await?;

        ensure!(!client.is_finished(), "the connection broke before the kill");
        let before = cluster.revision().await?;
        let meter = Meter::start(&processes);
        cluster.kill_first()?;
        let FailedOver { attempts, took, raw: _raw } = client.await??;
        let usage = meter.usage();
        let events = cluster.revision().await? - before;
        tokio::time::sleep(if load.quick { load.time } else { TAKEOVER }).await;
        let events_later = cluster.revision().await? - before;
        let figures = Figures { latency: Latency::of(vec![took]), usage, ..Figures::default() };
        Ok(figures
            .with("attempts_to_connect", attempts as f64)
            .with("events", events as f64)
            .with("events_with_the_takeover", events_later as f64))
    }
}

/// A client that is connected to the other server.
struct FailedOver {
    raw: Raw,
    /// How long it took.
    took: Duration,
    /// The number of attempts that it took.
    attempts: u64,
}

/// Waits until the connection breaks, and connects the client to the server at this port.
async fn fail_over(mut raw: Raw, port: u16) -> anyhow::Result<FailedOver> {
    while raw.connection.receive(|_, _, _| Ok(())).await.is_ok() {}
    let start = Instant::now();
    let mut attempts = 0;
    loop {
        attempts += 1;
        match Raw::reconnect(port, CLIENT, attempts + 1, raw.last()).await {
            Ok(raw) => return Ok(FailedOver { raw, took: start.elapsed(), attempts }),
            Err(error) if start.elapsed() > TIMEOUT => return Err(error),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}
