//! Plays scenarios against clients, several concurrently.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::{OnceCell, Semaphore};
use tokio::task::JoinSet;

use crate::clients::ClientSpec;
use crate::drivers::Drivers;
use crate::play::play;
use crate::repertoire::Repertoire;
use crate::scenario::Scenario;
use crate::stage::{Setup, Stage};

/// Options of a run.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// The number of concurrent scenarios.
    pub jobs: usize,
    /// How often each scenario is played.
    pub rounds: usize,
    /// Whether each step is printed.
    pub verbose: bool,
    /// Whether each client plays scenarios that do not harm servers on only one of the set-ups. The clients take turns:
    /// each scenario is played on every set-up, and each client on every one.
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

/// What scenarios share.
struct Shared {
    /// The servers of the scenarios that do not harm them.
    stages: HashMap<Setup, OnceCell<Stage>>,
    drivers: Drivers,
}

/// Whether a scenario is played on a set-up at all.
fn is_for(scenario: &Scenario, setup: Setup) -> bool {
    let stores = scenario.stores.as_ref();
    stores.is_none_or(|stores| stores.iter().any(|store| store == setup.store))
        && scenario.servers.is_none_or(|servers| servers <= setup.servers)
}

/// The set-ups on which a client plays a scenario, given their positions among the others.
fn places<'a>(
    (number, scenario): (usize, &Scenario),
    client: usize,
    setups: &'a [Setup],
    short: bool,
) -> impl Iterator<Item = &'a Setup> {
    let all: Vec<&Setup> = setups.iter().filter(|setup| is_for(scenario, **setup)).collect();
    let turn = (short && !scenario.harms_servers() && !all.is_empty()).then(|| (number + client) % all.len());
    all.into_iter().enumerate().filter(move |(place, _)| turn.is_none_or(|turn| turn == *place)).map(|(_, setup)| setup)
}

/// Plays all scenarios with all clients, and prints failures immediately.
pub async fn run(
    scenarios: &[Scenario],
    clients: &[ClientSpec],
    setups: &[Setup],
    options: RunOptions,
) -> Vec<Outcome> {
    let stages = setups.iter().map(|setup| (*setup, OnceCell::new())).collect();
    let shared = Arc::new(Shared { stages, drivers: Drivers::default() });
    let jobs_at_once = Arc::new(Semaphore::new(options.jobs));
    let mut jobs = JoinSet::new();
    let mut repertoires = Vec::new();
    for client in clients {
        // A client that does not start fails in every scenario.
        repertoires.push(Repertoire::of(client).await.unwrap_or_default());
    }
    for _ in 0..options.rounds {
        for (number, scenario) in scenarios.iter().enumerate() {
            for (turn, (client, repertoire)) in clients.iter().zip(&repertoires).enumerate() {
                if scenario.skip.contains_key(&client.name) || !repertoire.covers(scenario) {
                    continue;
                }
                for setup in places((number, scenario), turn, setups, options.short) {
                    let place = Arc::clone(&jobs_at_once).acquire_owned().await;
                    let (shared, scenario, client, setup) =
                        (Arc::clone(&shared), scenario.clone(), client.clone(), *setup);
                    let runtime = Handle::current();
                    // Each run has a thread, since removing a server's folder blocks.
                    jobs.spawn_blocking(move || {
                        let outcome = runtime.block_on(one(&scenario, &client, setup, &shared, options.verbose));
                        tell(&outcome);
                        drop(place);
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

fn tell(outcome: &Outcome) {
    if let Some(failure) = &outcome.failure {
        let Outcome { scenario, client, setup, .. } = outcome;
        println!("FAILED {scenario} with {client} on {}:\n  {failure}", setup.store);
    }
}

async fn one(scenario: &Scenario, client: &ClientSpec, setup: Setup, shared: &Shared, verbose: bool) -> Outcome {
    static NAMESPACES: AtomicU64 = AtomicU64::new(1);
    let namespace = format!("scenario-{}", NAMESPACES.fetch_add(1, Ordering::Relaxed));
    let began = Instant::now();
    let played = async {
        let own;
        let stage = if scenario.harms_servers() {
            let servers = scenario.servers.unwrap_or(setup.servers);
            own = Stage::start(Setup { servers, ..setup }, scenario.harms_the_database()).await?;
            &own
        } else {
            shared.stages[&setup].get_or_try_init(|| Stage::start(setup, false)).await?
        };
        play(scenario, client, stage, &namespace, &shared.drivers, verbose).await
    };
    let failure = played.await.err().map(|error| format!("{error:#}"));
    Outcome { scenario: scenario.name.clone(), client: client.name.clone(), setup, failure, took: began.elapsed() }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::Path;

    use super::*;
    use crate::SETUPS;

    #[test]
    fn in_the_short_form_every_scenario_and_every_client_is_everywhere() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
        let scenarios = Scenario::load_all(&folder).expect("they are well");
        let (mut short, mut all) = (HashSet::new(), HashSet::new());
        for (number, scenario) in scenarios.iter().enumerate() {
            for client in 0..6 {
                let of = |short| places((number, scenario), client, &SETUPS, short).copied();
                short.extend(of(true).flat_map(|setup| [(Err(client), setup), (Ok(&scenario.name), setup)]));
                all.extend(of(false).flat_map(|setup| [(Err(client), setup), (Ok(&scenario.name), setup)]));
            }
        }
        assert_eq!(short, all);
    }
}
