//! Kills the victims, and measures the takeovers.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use futures::future::try_join_all;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinSet;

use super::EARLIEST;
use super::victim::{ARGUMENT, Service, Victim, now};
use crate::cpu::{Meter, Processes};
use crate::measure::{Figures, Latency, Load};

/// The pause between two kills.
const APART: Duration = Duration::from_millis(10);

/// The time allowed for all waiters to queue up.
const QUEUEING: Duration = Duration::from_millis(500);

/// The limit of any step.
const PATIENCE: Duration = Duration::from_secs(60);

/// The start of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// The victim's last renewal.
    Renewal,
    /// The kill.
    Death,
}

/// A client that waits for a victim's lock.
pub trait Heir: Send + 'static {
    /// Waits for the lock.
    fn acquire(&mut self) -> impl Future<Output = anyhow::Result<()>> + Send;
}

/// Lets victims acquire the locks and heirs wait for them, kills the victims, and measures when the heirs acquire the
/// locks. Returns the heirs.
pub async fn kill<H: Heir>(
    load: &Load,
    processes: &Processes,
    since: Since,
    victims: Vec<Victim>,
    heirs: Vec<H>,
) -> anyhow::Result<(Figures, Vec<H>)> {
    let mut living = try_join_all(victims.into_iter().map(Living::begin)).await?;
    let mut tasks = JoinSet::new();
    for (place, mut heir) in heirs.into_iter().enumerate() {
        tasks.spawn(async move {
            heir.acquire().await?;
            anyhow::Ok((place, now(), heir))
        });
    }
    tokio::time::sleep(QUEUEING + load.warm_up).await;
    ensure!(tasks.try_join_next().is_none(), "a lock was given away while its holder lived");
    let meter = Meter::start(processes);
    let mut begun = Vec::new();
    for victim in &mut living {
        tokio::time::sleep(APART).await;
        let (renewal, death) = victim.die().await?;
        begun.push(if since == Since::Renewal { renewal } else { death });
    }
    let (mut times, mut heirs) = (Vec::new(), Vec::new());
    let gather = async {
        while let Some(done) = tasks.join_next().await {
            let (place, at, heir) = done??;
            times.push(Duration::from_nanos(at.saturating_sub(begun[place])));
            heirs.push(heir);
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(PATIENCE, gather).await.context("a lock is not passed on")??;
    let usage = meter.usage();
    let earliest = times.iter().min().copied().unwrap_or_default();
    let figures = Figures { latency: Latency::of(times), usage, ..Figures::default() };
    Ok((figures.with(EARLIEST, earliest.as_secs_f64() * 1e3), heirs))
}

/// A victim's process.
struct Living {
    process: Child,
    renewals: Lines<BufReader<ChildStdout>>,
    /// The last renewal that was read.
    renewed: u64,
}

impl Living {
    /// Starts it, and waits until it holds the lock.
    async fn begin(victim: Victim) -> anyhow::Result<Self> {
        let service = if victim.service == Service::Tenure { "tenure" } else { "etcd" };
        let mut command = Command::new(std::env::current_exe()?);
        command.args([ARGUMENT, service, &victim.port.to_string(), &victim.name, &victim.ttl.to_string()]);
        command.args(victim.grace.map(|grace| grace.to_string()));
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        let renewals = BufReader::new(process.stdout.take().context("no output")?).lines();
        let mut living = Self { process, renewals, renewed: 0 };
        let first = tokio::time::timeout(PATIENCE, living.renewals.next_line()).await.context("it has no lock")?;
        living.renewed = first?.context("it has ended")?.parse()?;
        Ok(living)
    }

    /// Kills it. Returns the times of its last renewal and of the kill.
    async fn die(&mut self) -> anyhow::Result<(u64, u64)> {
        let death = now();
        self.process.start_kill()?;
        while let Some(line) = self.renewals.next_line().await? {
            self.renewed = line.parse()?;
        }
        self.process.wait().await?;
        Ok((self.renewed, death))
    }
}
