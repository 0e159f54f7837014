//! Runs the bench.

use std::process::ExitCode;

use clap::Parser;
use tenure_bench::arguments::Arguments;
use tenure_bench::bench;

#[tokio::main]
async fn main() -> ExitCode {
    match bench(&Arguments::parse().settings()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tenure-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}
