//! Soak runs: three servers execute a mixed workload at a steady rate for a long time. Their resource usage must not
//! grow, and the history must be consistent at the end.

mod ending;
mod locker;
mod member;
mod reader;
mod sample;
mod task;
mod watcher;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::json;
use tenure_client::Client;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use self::sample::{MEASURES, Sample, Trend};
use self::task::Task;
use crate::report::Report;
use crate::service::{Base, Service};

/// The number of servers; one with SQLite.
const SERVERS: usize = 3;

/// Per server: the number of programs that acquire locks, and of group members.
const LOCKERS: usize = 16;
const MEMBERS: usize = 3;

/// The number of groups.
const GROUPS: usize = 2;

/// The prefixes that are watched.
const PREFIXES: [&str; 3] = ["lock/", "book/", "pool/"];

/// The number of samples of resource usage in a run, and the bounds of the interval between them.
const SAMPLES: f64 = 40.0;
const OFTEN: f64 = 0.5;
const SELDOM: f64 = 10.0;

/// How long programs may take to shut down.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The options of a soak run.
#[derive(Args, Clone, Debug)]
pub struct SoakArguments {
    /// Duration of the run, in minutes.
    #[arg(long, default_value_t = 60.0)]
    pub minutes: f64,
    /// Kind of database.
    #[arg(long, value_enum, default_value_t = Base::Postgres)]
    pub store: Base,
    /// Acquire calls per second.
    #[arg(long, default_value_t = 100.0)]
    pub rate: f64,
    /// Seed of the random choices. Default: a new one, which is printed.
    #[arg(long)]
    pub seed: Option<u64>,
    /// File for the report as JSON.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
}

/// Runs the soak and returns a report.
///
/// # Errors
/// If something that is not under test fails.
pub async fn soak(arguments: &SoakArguments) -> anyhow::Result<Report> {
    let begun = Instant::now();
    let seed = arguments.seed.unwrap_or_else(|| rand::rng().random_range(0..1 << 32));
    let (base, minutes) = (arguments.store, arguments.minutes);
    let mut report = Report::new(format!("soak --minutes {minutes} --store {} --seed {seed}", base.name()));
    let service = Service::start(base, if base == Base::Sqlite { 1 } else { SERVERS }).await?;
    let task = Task::new(service.urls());
    let clients = task.urls.iter().map(|url| Ok(Client::connect(url.as_str())?)).collect::<anyhow::Result<Vec<_>>>()?;
    let recording = tokio::spawn(watcher::record_all(clients[0].clone(), task.clone()));
    let mut programs = start(&task, &clients, arguments.rate, &mut StdRng::seed_from_u64(seed));

    let samples = sample_servers(&service, Duration::from_secs_f64(minutes * 60.0), &mut report).await?;
    task.finish();
    while let Some(ended) = timeout(TIMEOUT, programs.join_next()).await.context("a program hangs")? {
        ended?;
    }
    ending::wait_until_empty(&task, &service.store_url, &mut report).await?;
    for client in clients {
        task.counted("clients closed", client.close().await);
    }
    timeout(TIMEOUT, recording).await.context("the watch of everything does not end")??;
    report_usage(&samples, &task, &mut report)?;
    ending::check_history(&task, &service.store_url, &mut report).await?;
    report.end(begun.elapsed(), &service.servers, arguments.report.as_deref())?;
    Ok(report)
}

/// Starts all programs.
fn start(task: &Task, clients: &[Client], rate: f64, rng: &mut StdRng) -> JoinSet<()> {
    let mut programs = JoinSet::new();
    let pace = Duration::from_secs_f64((clients.len() * LOCKERS) as f64 / rate);
    for (number, client) in clients.iter().enumerate() {
        for _ in 0..LOCKERS {
            programs.spawn(locker::run(client.clone(), task.clone(), StdRng::from_rng(rng), pace));
        }
        for member in 0..MEMBERS {
            let group = format!("team-{}", (number + member) % GROUPS);
            programs.spawn(member::run(client.clone(), group, task.clone(), StdRng::from_rng(rng)));
        }
        for prefix in PREFIXES {
            let watching = watcher::watch_repeatedly(client.clone(), prefix, task.clone(), StdRng::from_rng(rng));
            programs.spawn(watching);
        }
        programs.spawn(reader::read(client.clone(), task.clone(), StdRng::from_rng(rng)));
        programs.spawn(reader::visit(task.clone(), StdRng::from_rng(rng)));
    }
    programs
}

/// Samples the servers until the time is over.
async fn sample_servers(service: &Service, time: Duration, report: &mut Report) -> anyhow::Result<Vec<Sample>> {
    let start = Instant::now();
    let mut tick = interval(Duration::from_secs_f64((time.as_secs_f64() / SAMPLES).clamp(OFTEN, SELDOM)));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut samples, mut unready) = (Vec::new(), 0);
    while start.elapsed() < time {
        tick.tick().await;
        samples.push(Sample::take(start.elapsed().as_secs_f64(), &service.servers)?);
        for server in &service.servers {
            unready += usize::from(server.status("/readyz").await != Some(200));
        }
    }
    report.require(unready == 0, "servers are always ready", format!("{unready} samples were not"));
    Ok(samples)
}

/// Reports the resource usage of the servers, and the work of the programs.
fn report_usage(samples: &[Sample], task: &Task, report: &mut Report) -> anyhow::Result<()> {
    let (first, last) = (samples.first().context("no samples")?, samples.last().context("no samples")?);
    let used = |sample: &Sample| sample.servers.iter().map(|server| server.processor).sum::<f64>();
    let cores = (used(last) - used(first)) / (last.at - first.at).max(f64::EPSILON);
    report.figure("processor", format!("{cores:.2} cores for all servers together"));
    report.detail("cores", &cores)?;
    for measure in &MEASURES {
        let trends: Vec<Trend> = (0..task.urls.len()).map(|server| Trend::of(measure, server, samples)).collect();
        let shown: Vec<String> = trends.iter().map(|of| format!("{:.0} then {:.0}", of.second, of.last)).collect();
        report.figure(measure.name, shown.join(", "));
        report.detail(measure.name, &trends)?;
        for (server, trend) in trends.iter().enumerate() {
            let seen = format!("server {server}: {} then {}", trend.second, trend.last);
            report.require(trend.is_flat(measure), &format!("{} do not grow", measure.name), seen);
        }
    }
    let notes = task.notes().clone();
    for (what, count) in &notes.done {
        report.figure(what, count);
    }
    for (what, count) in &notes.wrong {
        report.require(false, "there are no errors without faults", format!("{count} times {what}"));
    }
    report.detail("done", &notes.done)?;
    report.detail("wrong", &notes.wrong)?;
    report.detail("samples", &json!(samples))
}
