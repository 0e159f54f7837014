//! Runs the scenarios.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, ensure};
use clap::Parser;
use tenure_scenarios::{ClientSpec, RunOptions, SETUPS, Scenario, Setup, report, run};

/// Run the scenarios against the clients of all languages, and print the results. Fails if one fails.
#[derive(Debug, Parser)]
struct Arguments {
    /// Only scenarios with this in their names; may be given several times.
    #[arg(long)]
    scenario: Vec<String>,
    /// Only this client; may be given several times.
    #[arg(long)]
    client: Vec<String>,
    /// Only on this store: sqlite (one server) or postgres (three).
    #[arg(long, value_parser = ["sqlite", "postgres"])]
    store: Option<String>,
    /// The number of concurrent scenarios.
    #[arg(long, default_value_t = 8)]
    jobs: usize,
    /// The number of runs of each scenario.
    #[arg(long, default_value_t = 1)]
    rounds: usize,
    /// Run scenarios without server faults on only one of the stores per client; the clients alternate.
    #[arg(long)]
    short: bool,
    /// Print each step with its messages; one scenario at a time.
    #[arg(long)]
    verbose: bool,
    /// Do not build the drivers.
    #[arg(long)]
    no_build: bool,
    /// Build the drivers, and run nothing.
    #[arg(long, conflicts_with = "no_build")]
    only_build: bool,
    /// Another file of clients.
    #[arg(long)]
    clients: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(3).context("the repository's root")?;
    let file = arguments.clients.clone().unwrap_or_else(|| here.join("clients.toml"));
    let mut clients = ClientSpec::load_all(&file, root)?;
    clients.retain(|client| arguments.client.is_empty() || arguments.client.contains(&client.name));
    ensure!(!clients.is_empty(), "no client matches");
    let mut scenarios = Scenario::load_all(&here.join("scenarios"))?;
    let is_wanted = |name: &str| arguments.scenario.iter().any(|part| name.contains(part));
    scenarios.retain(|scenario| arguments.scenario.is_empty() || is_wanted(&scenario.name));
    ensure!(!scenarios.is_empty(), "no scenario matches");
    let is_wanted = |setup: &Setup| arguments.store.as_ref().is_none_or(|store| store == setup.store);
    let setups: Vec<Setup> = SETUPS.into_iter().filter(is_wanted).collect();
    if !arguments.no_build {
        for client in &clients {
            client.build().await?;
        }
    }
    if arguments.only_build {
        return Ok(ExitCode::SUCCESS);
    }
    let jobs = if arguments.verbose { 1 } else { arguments.jobs };
    let options = RunOptions { jobs, rounds: arguments.rounds, verbose: arguments.verbose, short: arguments.short };
    let outcomes = run(&scenarios, &clients, &setups, options).await;
    print!("{}", report(&scenarios, &clients, &outcomes));
    let failed = outcomes.iter().any(|outcome| outcome.failure.is_some());
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
