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

use crate::crew::Crew;
use crate::database::{Database, Kind};
use crate::ending::{Left, grants, judge};
use crate::faults::Fault;
use crate::report::Report;
use crate::servers::logs;
use crate::stage::Stage;
use crate::workplace::Workplace;

/// The maximum number of concurrent faults.
const AT_ONCE: usize = 3;

/// The duration of a fault, in ms.
const LASTS: std::ops::Range<u64> = 100..6_000;

/// The delay before the next fault, in ms.
const BETWEEN: std::ops::Range<u64> = 50..1_500;

/// The time without faults at the end of a run.
const PEACE: Duration = Duration::from_secs(2);

/// How long to wait before [`PEACE`] until each client has been granted a lock: on a slow machine a client may hardly
/// have started.
const FIRST_GRANT: Duration = Duration::from_secs(60);

/// The interval between checks for the first grants.
const LOOK: Duration = Duration::from_millis(500);

/// What chaos is asked for.
#[derive(Args, Clone, Debug)]
pub struct ChaosArguments {
    /// For how long faults happen.
    #[arg(long, default_value_t = 1.0)]
    pub minutes: f64,
    /// On which database.
    #[arg(long, value_enum, default_value_t = Kind::Postgres)]
    pub store: Kind,
    /// What the faults follow from. Default: a fresh one, which is told.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Only these faults. Default: all.
    #[arg(long, value_enum, value_delimiter = ',')]
    pub faults: Vec<Fault>,
    /// In which languages there are clients beside those in Rust, such as go,python: what their drivers take must be
    /// there.
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
    let mut workplace = Workplace::new()?;
    let mut rng = StdRng::seed_from_u64(seed);
    let stage = Arc::new(Stage::start(arguments.store, workplace.path(), &arguments.languages, &mut rng).await?);
    let tally = LocalSet::new().run_until(storm(&arguments, &stage, &mut rng)).await?;
    {
        let mut database = stage.database.lock().await;
        anyhow::ensure!(database.is_running(), "the database ended by itself: {}", database.log_tail());
    }
    for server in &stage.servers {
        grants(&server.url, &mut report).await;
    }
    if !report.violations.is_empty() {
        std::fs::write(workplace.path().join("activity.txt"), Database::activity(&stage.url).await?.join("\n"))?;
    }
    let deadline = Instant::now() + FIRST_GRANT;
    while Instant::now() < deadline && !all_are_served(&stage).await {
        sleep(LOOK).await;
    }
    sleep(PEACE).await;
    let mut clients = Vec::new();
    for client in &stage.clients {
        let mut client = client.lock().await;
        if let Err(error) = client.finish().await {
            report.violate("nobody waits for ever", format!("{error:#}"));
        }
        clients.push(client);
    }
    let logs = logs(&stage.servers).await;
    let clients: Vec<&Crew> = clients.iter().map(|client| &**client).collect();
    let mut by_language: BTreeMap<&str, usize> = BTreeMap::new();
    for client in &clients {
        *by_language.entry(client.language()).or_default() += client.grants()?;
    }
    for (language, grants) in by_language {
        report.figures.push((format!("grants by {language}"), grants.to_string()));
        if grants == 0 {
            report.violate("every client gets something", language);
        }
    }
    let left = Left { clients, url: &stage.url, lost: Vec::new(), promotions: 0, logs };
    judge(left, &mut workplace, &mut report, |_, _, _| {}).await?;
    let possible = Fault::possible(&stage).len();
    let faults = format!("{}, of {} of {possible} kinds", tally.values().sum::<usize>(), tally.len());
    report.figures.push(("faults".to_owned(), faults));
    report.figures.extend(tally.into_iter().map(|(fault, count)| (format!("  {}", fault.name()), count.to_string())));
    report.time = begun.elapsed();
    Ok(report)
}

/// Returns whether each client has been granted a lock.
async fn all_are_served(stage: &Stage) -> bool {
    for client in &stage.clients {
        // A journal that is being written cannot always be read.
        if client.lock().await.grants().unwrap_or_default() == 0 {
            return false;
        }
    }
    true
}

/// Injects faults until the time is over, then waits until all have ended. Returns how often each occurred.
async fn storm(
    arguments: &ChaosArguments,
    stage: &Arc<Stage>,
    rng: &mut StdRng,
) -> anyhow::Result<BTreeMap<Fault, usize>> {
    let mut possible = Fault::possible(stage);
    possible.retain(|fault| arguments.faults.is_empty() || arguments.faults.contains(fault));
    let mut tally: BTreeMap<Fault, usize> = BTreeMap::new();
    let mut under_way: JoinSet<anyhow::Result<(Fault, bool)>> = JoinSet::new();
    let mut note = |ended: Result<anyhow::Result<(Fault, bool)>, tokio::task::JoinError>| -> anyhow::Result<()> {
        let (fault, struck) = ended??;
        if struck {
            *tally.entry(fault).or_default() += 1;
        }
        Ok(())
    };
    let until = Instant::now() + Duration::from_secs_f64(arguments.minutes * 60.0);
    while Instant::now() < until {
        sleep(Duration::from_millis(rng.random_range(BETWEEN))).await;
        let Some(fault) = possible.choose(rng).copied() else { break };
        let (stage, own, lasts) =
            (stage.clone(), StdRng::from_rng(rng), Duration::from_millis(rng.random_range(LASTS)));
        under_way.spawn_local(async move { Ok((fault, fault.strike(stage, own, lasts).await?)) });
        if under_way.len() >= AT_ONCE
            && let Some(ended) = under_way.join_next().await
        {
            note(ended)?;
        }
    }
    while let Some(ended) = under_way.join_next().await {
        note(ended)?;
    }
    Ok(tally)
}
