//! `tenure-chaos`: see the library.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tenure_chaos::client::{self, ClientArguments};
use tenure_chaos::failover::{FailoverArguments, failover};
use tenure_chaos::{ChaosArguments, chaos, enter_own_namespaces};

/// Runs real Tenure processes on real databases under injected faults.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Injects faults that follow from a seed into servers, clients, the database and the network.
    Chaos(ChaosArguments),
    /// Kills the database that takes the writes under load, and has another take over.
    Failover(FailoverArguments),
    /// Runs one client of such a run.
    #[command(hide = true)]
    Client(ClientArguments),
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("tenure-chaos: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether the run found no violation.
fn run() -> anyhow::Result<bool> {
    let task = Arguments::parse().task;
    if !matches!(task, Task::Client(_)) {
        enter_own_namespaces();
    }
    let runtime = tokio::runtime::Runtime::new()?;
    let report = match task {
        Task::Client(arguments) => return runtime.block_on(client::run(arguments)).map(|()| true),
        Task::Chaos(arguments) => runtime.block_on(chaos(arguments))?,
        Task::Failover(arguments) => runtime.block_on(failover(arguments))?,
    };
    print!("{report}");
    Ok(report.violations.is_empty())
}
