//! Kills the holders, and measures the takeovers.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use futures::future::try_join_all;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinSet;

use super::EARLIEST;
use super::holder::{ARGUMENT, Holder, Service, now};
use crate::cpu::{Meter, Processes};
use crate::measure::{Figures, Latency, Load};

/// The pause between two kills.
const INTERVAL: Duration = Duration::from_millis(10);

/// The time allowed for all waiters to queue up.
const QUEUEING: Duration = Duration::from_millis(500);

/// The limit of any step.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The start of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// The holder's last renewal.
    Renewal,
    /// The kill.
    Kill,
}

/// A client that waits for a holder's lock.
pub trait Successor: Send + 'static {
    /// Waits for the lock.
    fn acquire(&mut self) -> impl Future<Output = anyhow::Result<()>> + Send;
}

/// Lets holders acquire the locks and successors wait for them, kills the holders, and measures when the successors
/// acquire the locks. Returns the successors.
pub async fn measure<S: Successor>(
    load: &Load,
    processes: &Processes,
    since: Since,
    holders: Vec<Holder>,
    successors: Vec<S>,
) -> anyhow::Result<(Figures, Vec<S>)> {
    let mut running = try_join_all(holders.into_iter().map(HolderProcess::begin)).await?;
    let mut tasks = JoinSet::new();
    for (index, mut successor) in successors.into_iter().enumerate() {
        tasks.spawn(async move {
            successor.acquire().await?;
            anyhow::Ok((index, now(), successor))
        });
    }
    tokio::time::sleep(QUEUEING + load.warm_up).await;
    ensure!(tasks.try_join_next().is_none(), "a lock was granted while its holder was alive");
    let meter = Meter::start(processes);
    let mut begun = Vec::new();
    for holder in &mut running {
        tokio::time::sleep(INTERVAL).await;
        let (renewal, kill) = holder.kill().await?;
        begun.push(if since == Since::Renewal { renewal } else { kill });
    }
    let (mut times, mut successors) = (Vec::new(), Vec::new());
    let gather = async {
        while let Some(done) = tasks.join_next().await {
            let (index, at, successor) = done??;
            times.push(Duration::from_nanos(at.saturating_sub(begun[index])));
            successors.push(successor);
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(TIMEOUT, gather).await.context("a lock is not granted")??;
    let usage = meter.usage();
    let earliest = times.iter().min().copied().unwrap_or_default();
    let figures = Figures { latency: Latency::of(times), usage, ..Figures::default() };
    Ok((figures.with(EARLIEST, earliest.as_secs_f64() * 1e3), successors))
}

/// A holder's process.
struct HolderProcess {
    process: Child,
    renewals: Lines<BufReader<ChildStdout>>,
    /// The last renewal that was read.
    renewed: u64,
}

impl HolderProcess {
    /// Starts it, and waits until it holds the lock.
    async fn begin(holder: Holder) -> anyhow::Result<Self> {
        let service = if holder.service == Service::Tenure { "tenure" } else { "etcd" };
        let mut command = Command::new(std::env::current_exe()?);
        command.args([ARGUMENT, service, &holder.port.to_string(), &holder.name, &holder.ttl.to_string()]);
        command.args(holder.grace.map(|grace| grace.to_string()));
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        let renewals = BufReader::new(process.stdout.take().context("no output")?).lines();
        let mut process = Self { process, renewals, renewed: 0 };
        let first = tokio::time::timeout(TIMEOUT, process.renewals.next_line())
            .await
            .context("the holder does not acquire its lock")?;
        process.renewed = first?.context("the holder has exited")?.parse()?;
        Ok(process)
    }

    /// Kills it. Returns the times of its last renewal and of the kill.
    async fn kill(&mut self) -> anyhow::Result<(u64, u64)> {
        let kill = now();
        self.process.start_kill()?;
        while let Some(line) = self.renewals.next_line().await? {
            self.renewed = line.parse()?;
        }
        self.process.wait().await?;
        Ok((self.renewed, kill))
    }
}
