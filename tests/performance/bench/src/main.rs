//! Runs the bench.

use std::process::ExitCode;

use clap::Parser;
use tenure_bench::arguments::{Arguments, Part};
use tenure_bench::bench;
use tenure_bench::target::empty;
use tikv_jemallocator::Jemalloc;

/// One allocator for all client libraries, so that the cost of small allocations depends on the work only.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match &arguments.part {
        Some(Part::ServeEmpty { port }) => empty::serve(*port).await,
        Some(Part::Hold(holder)) => holder.hold().await,
        None => bench(&arguments.settings()).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tenure-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}
