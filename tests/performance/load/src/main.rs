//! `tenure-load`: see the library.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tenure_load::overload::{OverloadArguments, overload};
use tenure_load::soak::{SoakArguments, soak};

/// Runs real Tenure processes under overload, and under a steady load for a long time.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Offers a server three times its capacity.
    Overload(OverloadArguments),
    /// Runs a mixed workload on three servers for a long time.
    Soak(SoakArguments),
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("tenure-load: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether the run found no violation.
fn run() -> anyhow::Result<bool> {
    // A single thread: the servers need the machine, too.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let report = match Arguments::parse().task {
        Task::Overload(arguments) => runtime.block_on(overload(&arguments))?,
        Task::Soak(arguments) => runtime.block_on(soak(&arguments))?,
    };
    print!("{report}");
    Ok(report.violations.is_empty())
}
