//! Failover runs: repeatedly kills the database that takes the writes under load, and has another take over.

mod cluster;
mod galera;
mod group_replication;
mod lost;
mod pair;
mod patroni;

use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use clap::{Args, ValueEnum};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tenure_checker::Past;
use tenure_core::Event;
use tokio::time::{Instant, sleep};

pub use cluster::Cluster;
use galera::GaleraCluster;
use group_replication::{Failure, Group};
pub use pair::Pair;
use patroni::PatroniCluster;

use crate::client_process::{ClientConfig, ClientProcess};
use crate::clock::now;
use crate::ending::{RunResults, check_grants, verify};
use crate::journal::Collected;
use crate::past::LostCommits;
use crate::report::Report;
use crate::run_folder::RunFolder;
use crate::servers::{Server, logs};

/// The number of servers. The last one reaches the database through a proxy that follows the writer; the others are
/// given all addresses, where the cluster allows that.
const SERVERS: usize = 3;

/// The number of client processes, of programs in each that use locks, and of locks.
const CLIENTS: usize = 2;
const WORKERS: usize = 6;
const LOCKS: u32 = 16;

/// The time under load before the database is killed, in ms.
const LOAD: std::ops::Range<u64> = 1_000..3_000;

/// How long an asynchronous standby has received nothing when its primary is killed, in ms.
const LAG: std::ops::Range<u64> = 50..1_000;

/// A database cluster that fails over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// A PostgreSQL and its standby, which is promoted at once.
    Pair,
    /// Three MariaDBs in a Galera cluster, one of which takes the writes.
    Galera,
    /// Three PostgreSQLs under Patroni, which promotes one of them by itself.
    Patroni,
    /// Three MySQLs with Group Replication, which elect a primary by themselves.
    GroupReplication,
}

/// The options of a failover run.
#[derive(Args, Clone, Debug)]
pub struct FailoverArguments {
    /// The database cluster.
    #[arg(long, value_enum, default_value = "pair")]
    pub engine: Engine,
    /// Number of failovers.
    #[arg(long, default_value_t = 20)]
    pub cycles: usize,
    /// Use asynchronous standbys, which lack the last commits.
    #[arg(long)]
    pub asynchronous: bool,
    /// With Patroni and synchronous standbys: kill only the Patroni of the primary, so that another PostgreSQL is
    /// promoted while the old one still runs as a primary.
    #[arg(long, conflicts_with = "asynchronous")]
    pub orphaned: bool,
    /// With Group Replication: how the primary fails.
    #[arg(long, value_enum, default_value = "killed")]
    pub primary: Failure,
    /// With Group Replication: a setting of the members, such as --group-replication-consistency=EVENTUAL. May be given
    /// several times.
    #[arg(long, value_name = "SETTING", allow_hyphen_values = true)]
    pub setting: Vec<String>,
    /// The deadline of the first grant in seconds, from when commits complete after a promotion. The default is for an
    /// idle machine.
    #[arg(long, value_name = "SECONDS", default_value_t = 2)]
    pub first_grant: u64,
    /// Seed of the random choices. Default: a random one, which is printed.
    #[arg(long)]
    pub seed: Option<u64>,
}

/// A promotion.
struct Promotion {
    /// When the old database was killed.
    killed: Duration,
    /// When the new database had taken over.
    done: Duration,
    /// When the new database completed commits.
    open: Duration,
    /// How long each server took to grant, from when the new database had taken over.
    recovered: Vec<Duration>,
}

/// Runs failovers and returns a report.
///
/// # Errors
/// If something that is not under test fails.
pub async fn failover(arguments: FailoverArguments) -> anyhow::Result<Report> {
    let begun = Instant::now();
    let seed = arguments.seed.unwrap_or_else(|| rand::rng().random_range(0..1 << 32));
    let mut report = Report { run: format!("failover{} --seed {seed}", arguments.kind()), ..Report::default() };
    println!("{} for {} cycles", report.run, arguments.cycles);
    let mut rng = StdRng::seed_from_u64(seed);
    // Created first, so dropped last: the databases keep their files in it.
    let mut run_folder = RunFolder::new()?;
    let mut cluster = arguments.cluster().await?;
    let servers = servers(&*cluster).await?;
    let mut clients = clients(&servers, run_folder.path(), &mut rng)?;
    let (mut promotions, mut lost) = (Vec::new(), Vec::new());
    for _ in 0..arguments.cycles {
        sleep(Duration::from_millis(rng.random_range(LOAD))).await;
        if cluster.may_lose_commits() {
            cluster.fall_behind(Duration::from_millis(rng.random_range(LAG))).await;
        }
        let promotion = take_over(&mut *cluster, &servers, &mut report).await?;
        lost.extend(cluster.lost_commits(promotion.done).await?);
        promotions.push(promotion);
        cluster.rebuild().await?;
    }
    for client in &mut clients {
        if let Err(error) = client.finish().await {
            report.add_violation("every client shuts down in time", format!("{error:#}"));
        }
    }
    let mut logs = logs(&servers).await;
    logs.extend(cluster.logs());
    report.figures.push(("batches lost".to_owned(), listed(lost.iter().map(|lost: &LostCommits| lost.batches.len()))));
    let url = cluster.url_of(cluster.writer());
    let results = RunResults { clients: clients.iter().collect(), url: &url, lost, promotions: promotions.len(), logs };
    let deadline = Duration::from_secs(arguments.first_grant);
    verify(results, &mut run_folder, &mut report, |collected, past, report| {
        check(&promotions, deadline, collected, past, report);
    })
    .await?;
    report.time = begun.elapsed();
    Ok(report)
}

impl FailoverArguments {
    /// The options that distinguish this kind of run, as given on the command line.
    fn kind(&self) -> String {
        let engine = match self.engine {
            Engine::Pair => "",
            Engine::Galera => " --engine galera",
            Engine::Patroni => " --engine patroni",
            Engine::GroupReplication => " --engine group-replication",
        };
        let primary = match self.primary {
            Failure::Killed => "",
            Failure::Frozen => " --primary frozen",
            Failure::Partitioned => " --primary partitioned",
        };
        let settings = self.setting.iter().map(|setting| format!(" --setting {setting}")).collect::<String>();
        let asynchronous = if self.asynchronous { " --asynchronous" } else { "" };
        let orphaned = if self.orphaned { " --orphaned" } else { "" };
        [engine, asynchronous, orphaned, primary, &settings].concat()
    }

    async fn cluster(&self) -> anyhow::Result<Box<dyn Cluster>> {
        let is_mysql = matches!(self.engine, Engine::Galera | Engine::GroupReplication);
        ensure!(!self.asynchronous || !is_mysql, "--asynchronous is for PostgreSQL");
        let has_defaults = self.primary == Failure::Killed && self.setting.is_empty();
        ensure!(
            has_defaults || self.engine == Engine::GroupReplication,
            "--primary and --setting are for --engine group-replication"
        );
        ensure!(!self.orphaned || self.engine == Engine::Patroni, "--orphaned is for --engine patroni");
        Ok(match self.engine {
            Engine::Pair => Box::new(Pair::start(!self.asynchronous).await?),
            Engine::Galera => Box::new(GaleraCluster::start().await?),
            Engine::Patroni => Box::new(PatroniCluster::start(!self.asynchronous, self.orphaned).await?),
            Engine::GroupReplication => Box::new(Group::start(self.primary, &self.setting).await?),
        })
    }
}

async fn servers(cluster: &dyn Cluster) -> anyhow::Result<Vec<Server>> {
    let mut servers = Vec::new();
    for number in 0..SERVERS {
        let url = |port| if number + 1 < SERVERS { cluster.url(port) } else { cluster.url_of(port) };
        servers.push(Server::start(cluster.writer(), url, Vec::new()).await?);
    }
    Ok(servers)
}

fn clients(servers: &[Server], folder: &Path, rng: &mut StdRng) -> anyhow::Result<Vec<ClientProcess>> {
    let urls: Vec<String> = servers.iter().map(|server| server.url.clone()).collect();
    let mut config = || {
        let (servers, seed) = (urls.clone(), rng.random());
        ClientConfig { servers, seed, workers: WORKERS, locks: LOCKS, language: None }
    };
    (0..CLIENTS).map(|number| ClientProcess::start(folder, number, config())).collect()
}

/// Kills the database, has another take over, and waits until every server grants again.
async fn take_over(cluster: &mut dyn Cluster, servers: &[Server], report: &mut Report) -> anyhow::Result<Promotion> {
    let killed = now();
    cluster.kill().await?;
    cluster.take_over().await?;
    let done = now();
    let mut recovered = Vec::new();
    for server in servers {
        let proxy = server.store_proxy.lock().await;
        proxy.cut();
        proxy.set_target(cluster.writer());
    }
    cluster.wait_for_commits().await?;
    let open = now();
    for server in servers {
        check_grants(&server.url, report).await;
        recovered.push(now() - done);
    }
    Ok(Promotion { killed, done, open, recovered })
}

/// Reports all durations, and checks them.
fn check(promotions: &[Promotion], deadline: Duration, collected: &Collected, past: &Past, report: &mut Report) {
    let is_jump = |event: &Event| matches!(event, Event::HistoryLost { .. });
    let jumps = past.surviving().filter(|recorded| is_jump(&recorded.event)).map(|recorded| recorded.revision.0);
    let mut first = Vec::new();
    for (promotion, jump) in promotions.iter().zip(jumps) {
        let grants = collected.history.acquired().filter(|(_, token)| *token > jump).map(|(call, _)| call.end);
        let Some(grant) = grants.min() else {
            report.add_violation("grants follow each promotion", format!("none after {:?}", promotion.done));
            continue;
        };
        let took = grant.saturating_sub(promotion.done);
        if grant > promotion.open + deadline {
            let rule = "the first grant follows within its deadline of the first commit after the promotion";
            report.add_violation(rule, format!("{:?}", grant - promotion.open));
        }
        first.push((took, grant.saturating_sub(promotion.killed)));
    }
    let recovered = promotions.iter().flat_map(|promotion| promotion.recovered.last());
    report.figures.extend([
        ("promotions".to_owned(), promotions.len().to_string()),
        ("  after the kill, ms".to_owned(), millis(promotions, |promotion| promotion.done - promotion.killed)),
        ("  commits after, ms".to_owned(), millis(promotions, |promotion| promotion.open - promotion.done)),
        ("first grant after, ms".to_owned(), listed(first.iter().map(|(took, _)| took.as_millis()))),
        ("  after the kill, ms".to_owned(), listed(first.iter().map(|(_, took)| took.as_millis()))),
        ("every server grants, ms".to_owned(), listed(recovered.map(Duration::as_millis))),
    ]);
}

fn millis(promotions: &[Promotion], of: impl Fn(&Promotion) -> Duration) -> String {
    listed(promotions.iter().map(|promotion| of(promotion).as_millis()))
}

fn listed(numbers: impl Iterator<Item = impl ToString>) -> String {
    numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(" ")
}
