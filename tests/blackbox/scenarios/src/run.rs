//! Runs scenarios against clients, several concurrently.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::{OnceCell, Semaphore};
use tokio::task::JoinSet;

use crate::capabilities::Capabilities;
use crate::clients::ClientSpec;
use crate::cluster::{Cluster, Setup};
use crate::drivers::Drivers;
use crate::execution::execute;
use crate::scenario::Scenario;

/// Options of a run.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// The number of concurrent scenarios.
    pub jobs: usize,
    /// How often each scenario is run.
    pub rounds: usize,
    /// Whether each step is printed.
    pub verbose: bool,
    /// Whether each client runs scenarios without server faults on only one of the set-ups. The clients alternate: each
    /// scenario is run on every set-up, and each client on every one.
    pub short: bool,
}

/// The outcome of one scenario with one client on one set-up.
#[derive(Debug)]
pub struct Outcome {
    /// The scenario's name.
    pub scenario: String,
    /// The client's name.
    pub client: String,
    /// The set-up.
    pub setup: Setup,
    /// The failure, if any.
    pub failure: Option<String>,
    /// The duration.
    pub took: Duration,
}

/// The resources that scenarios share.
struct Shared {
    /// The servers of the scenarios without server faults.
    clusters: HashMap<Setup, OnceCell<Cluster>>,
    drivers: Drivers,
}

/// Whether a scenario runs on a set-up at all.
fn runs_on(scenario: &Scenario, setup: Setup) -> bool {
    let stores = scenario.stores.as_ref();
    stores.is_none_or(|stores| stores.iter().any(|store| store == setup.store))
        && scenario.servers.is_none_or(|servers| servers <= setup.servers)
}

/// The set-ups on which a client runs a scenario, given their positions among the others.
fn setups_of<'a>(
    (number, scenario): (usize, &Scenario),
    client: usize,
    setups: &'a [Setup],
    short: bool,
) -> impl Iterator<Item = &'a Setup> {
    let all: Vec<&Setup> = setups.iter().filter(|setup| runs_on(scenario, **setup)).collect();
    let turn = (short && !scenario.has_server_faults() && !all.is_empty()).then(|| (number + client) % all.len());
    all.into_iter().enumerate().filter(move |(index, _)| turn.is_none_or(|turn| turn == *index)).map(|(_, setup)| setup)
}

/// Runs all scenarios with all clients, and prints failures immediately.
pub async fn run(
    scenarios: &[Scenario],
    clients: &[ClientSpec],
    setups: &[Setup],
    options: RunOptions,
) -> Vec<Outcome> {
    let clusters = setups.iter().map(|setup| (*setup, OnceCell::new())).collect();
    let shared = Arc::new(Shared { clusters, drivers: Drivers::default() });
    let jobs_at_once = Arc::new(Semaphore::new(options.jobs));
    let mut jobs = JoinSet::new();
    let mut all_capabilities = Vec::new();
    for client in clients {
        // A client that does not start fails in every scenario.
        all_capabilities.push(Capabilities::of(client).await.unwrap_or_default());
    }
    for _ in 0..options.rounds {
        for (number, scenario) in scenarios.iter().enumerate() {
            for (turn, (client, capabilities)) in clients.iter().zip(&all_capabilities).enumerate() {
                if scenario.skip.contains_key(&client.name) || !capabilities.cover(scenario) {
                    continue;
                }
                for setup in setups_of((number, scenario), turn, setups, options.short) {
                    let permit = Arc::clone(&jobs_at_once).acquire_owned().await;
                    let (shared, scenario, client, setup) =
                        (Arc::clone(&shared), scenario.clone(), client.clone(), *setup);
                    let runtime = Handle::current();
                    // Each run has a thread, since removing a server's folder blocks.
                    jobs.spawn_blocking(move || {
                        let outcome = runtime.block_on(run_one(&scenario, &client, setup, &shared, options.verbose));
                        print_failure(&outcome);
                        drop(permit);
                        outcome
                    });
                }
            }
        }
    }
    let mut outcomes = Vec::new();
    while let Some(outcome) = jobs.join_next().await {
        outcomes.extend(outcome);
    }
    outcomes
}

fn print_failure(outcome: &Outcome) {
    if let Some(failure) = &outcome.failure {
        let Outcome { scenario, client, setup, .. } = outcome;
        println!("FAILED {scenario} with {client} on {}:\n  {failure}", setup.store);
    }
}

async fn run_one(scenario: &Scenario, client: &ClientSpec, setup: Setup, shared: &Shared, verbose: bool) -> Outcome {
    static NAMESPACES: AtomicU64 = AtomicU64::new(1);
    let namespace = format!("scenario-{}", NAMESPACES.fetch_add(1, Ordering::Relaxed));
    let began = Instant::now();
    let executed = async {
        let own;
        let cluster = if scenario.has_server_faults() {
            let servers = scenario.servers.unwrap_or(setup.servers);
            own = Cluster::start(Setup { servers, ..setup }, scenario.has_database_faults()).await?;
            &own
        } else {
            shared.clusters[&setup].get_or_try_init(|| Cluster::start(setup, false)).await?
        };
        execute(scenario, client, cluster, &namespace, &shared.drivers, verbose).await
    };
    let failure = executed.await.err().map(|error| format!("{error:#}"));
    Outcome { scenario: scenario.name.clone(), client: client.name.clone(), setup, failure, took: began.elapsed() }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::Path;

    use super::*;
    use crate::SETUPS;

    #[test]
    fn short_runs_cover_every_setup_with_every_scenario_and_client() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
        let scenarios = Scenario::load_all(&folder).expect("the scenarios are valid");
        let (mut short, mut all) = (HashSet::new(), HashSet::new());
        for (number, scenario) in scenarios.iter().enumerate() {
            for client in 0..6 {
                let of = |short| setups_of((number, scenario), client, &SETUPS, short).copied();
                short.extend(of(true).flat_map(|setup| [(Err(client), setup), (Ok(&scenario.name), setup)]));
                all.extend(of(false).flat_map(|setup| [(Err(client), setup), (Ok(&scenario.name), setup)]));
            }
        }
        assert_eq!(short, all);
    }
}
