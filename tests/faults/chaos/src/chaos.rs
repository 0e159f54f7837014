//! Chaos runs: faults drawn from a seed, one or several at a time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{Instant, sleep};

use crate::client_process::ClientProcess;
use crate::database::{Database, Kind};
use crate::deployment::Deployment;
use crate::ending::{RunResults, check_grants, verify};
use crate::faults::Fault;
use crate::report::Report;
use crate::run_folder::RunFolder;
use crate::servers::logs;

/// The maximum number of concurrent faults.
const MAX_CONCURRENT: usize = 3;

/// The duration of a fault, in ms.
const DURATION: std::ops::Range<u64> = 100..6_000;

/// The delay before the next fault, in ms.
const PAUSE: std::ops::Range<u64> = 50..1_500;

/// The time without faults at the end of a run.
const RECOVERY: Duration = Duration::from_secs(2);

/// How long to wait before [`RECOVERY`] until each client has been granted a lock: on a slow machine a client may have
/// just started.
const FIRST_GRANT: Duration = Duration::from_secs(60);

/// The interval between checks for the first grants.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The options of a chaos run.
#[derive(Args, Clone, Debug)]
pub struct ChaosArguments {
    /// Duration of the faults, in minutes.
    #[arg(long, default_value_t = 1.0)]
    pub minutes: f64,
    /// The database.
    #[arg(long, value_enum, default_value_t = Kind::Postgres)]
    pub store: Kind,
    /// Seed of the faults. Default: a random one, which is printed.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Only these faults. Default: all.
    #[arg(long, value_enum, value_delimiter = ',')]
    pub faults: Vec<Fault>,
    /// Languages of further clients besides those in Rust, such as go,python. Their drivers must be built.
    #[arg(long, value_delimiter = ',', env = "TENURE_CHAOS_LANGUAGES")]
    pub languages: Vec<String>,
}

/// Runs chaos and returns a report.
///
/// # Errors
/// If something that is not under test fails.
pub async fn chaos(arguments: ChaosArguments) -> anyhow::Result<Report> {
    let begun = Instant::now();
    let seed = arguments.seed.unwrap_or_else(|| rand::rng().random_range(0..1 << 32));
    let run = format!("chaos --store {:?} --seed {seed}", arguments.store).to_lowercase();
    println!("{run} for {} min", arguments.minutes);
    let mut report = Report { run, ..Report::default() };
    // Created first, so dropped last: the databases keep their files in it.
    let mut run_folder = RunFolder::new()?;
    let mut rng = StdRng::seed_from_u64(seed);
    let deployment =
        Arc::new(Deployment::start(arguments.store, run_folder.path(), &arguments.languages, &mut rng).await?);
    let counts = LocalSet::new().run_until(inject_faults(&arguments, &deployment, &mut rng)).await?;
    {
        let mut database = deployment.database.lock().await;
        anyhow::ensure!(database.is_running(), "the database ended by itself: {}", database.log_tail());
    }
    for server in &deployment.servers {
        check_grants(&server.url, &mut report).await;
    }
    if !report.violations.is_empty() {
        std::fs::write(run_folder.path().join("activity.txt"), Database::activity(&deployment.url).await?.join("\n"))?;
    }
    let deadline = Instant::now() + FIRST_GRANT;
    while Instant::now() < deadline && !all_have_grants(&deployment).await {
        sleep(POLL_INTERVAL).await;
    }
    sleep(RECOVERY).await;
    let mut clients = Vec::new();
    for client in &deployment.clients {
        let mut client = client.lock().await;
        if let Err(error) = client.finish().await {
            report.add_violation("every client shuts down in time", format!("{error:#}"));
        }
        clients.push(client);
    }
    let logs = logs(&deployment.servers).await;
    let clients: Vec<&ClientProcess> = clients.iter().map(|client| &**client).collect();
    let mut by_language: BTreeMap<&str, usize> = BTreeMap::new();
    for client in &clients {
        *by_language.entry(client.language()).or_default() += client.grants()?;
    }
    for (language, grants) in by_language {
        report.figures.push((format!("grants by {language}"), grants.to_string()));
        if grants == 0 {
            report.add_violation("every language is granted locks", language);
        }
    }
    let results = RunResults { clients, url: &deployment.url, lost: Vec::new(), promotions: 0, logs };
    verify(results, &mut run_folder, &mut report, |_, _, _| {}).await?;
    let possible = Fault::possible(&deployment).len();
    let faults = format!("{}, of {} of {possible} kinds", counts.values().sum::<usize>(), counts.len());
    report.figures.push(("faults".to_owned(), faults));
    report.figures.extend(counts.into_iter().map(|(fault, count)| (format!("  {}", fault.name()), count.to_string())));
    report.time = begun.elapsed();
    Ok(report)
}

/// Returns whether each client has been granted a lock.
async fn all_have_grants(deployment: &Deployment) -> bool {
    for client in &deployment.clients {
        // A journal that is being written cannot always be read.
        if client.lock().await.grants().unwrap_or_default() == 0 {
            return false;
        }
    }
    true
}

/// Injects faults until the time is over, then waits until all have ended. Returns how often each occurred.
async fn inject_faults(
    arguments: &ChaosArguments,
    deployment: &Arc<Deployment>,
    rng: &mut StdRng,
) -> anyhow::Result<BTreeMap<Fault, usize>> {
    let mut possible = Fault::possible(deployment);
    possible.retain(|fault| arguments.faults.is_empty() || arguments.faults.contains(fault));
    let mut counts: BTreeMap<Fault, usize> = BTreeMap::new();
    let mut in_progress: JoinSet<anyhow::Result<(Fault, bool)>> = JoinSet::new();
    let mut count = |ended: Result<anyhow::Result<(Fault, bool)>, tokio::task::JoinError>| -> anyhow::Result<()> {
        let (fault, occurred) = ended??;
        if occurred {
            *counts.entry(fault).or_default() += 1;
        }
        Ok(())
    };
    let until = Instant::now() + Duration::from_secs_f64(arguments.minutes * 60.0);
    while Instant::now() < until {
        sleep(Duration::from_millis(rng.random_range(PAUSE))).await;
        let Some(fault) = possible.choose(rng).copied() else { break };
        let (deployment, own, lasts) =
            (deployment.clone(), StdRng::from_rng(rng), Duration::from_millis(rng.random_range(DURATION)));
        in_progress.spawn_local(async move { Ok((fault, fault.inject(deployment, own, lasts).await?)) });
        if in_progress.len() >= MAX_CONCURRENT
            && let Some(ended) = in_progress.join_next().await
        {
            count(ended)?;
        }
    }
    while let Some(ended) = in_progress.join_next().await {
        count(ended)?;
    }
    Ok(counts)
}
