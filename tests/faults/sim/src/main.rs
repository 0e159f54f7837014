//! Command line of the simulation.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use tenure_sim::defect::{self, Defect};
use tenure_sim::{campaign, machine, run};

/// Runs seeds of the simulation, and prints which of them break a promise.
#[derive(Debug, Parser)]
struct Arguments {
    /// Number of seeds
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// First seed
    #[arg(long, default_value_t = 1)]
    first_seed: u64,
    /// Number of seeds that run at once. Default: the number of cores
    #[arg(long)]
    jobs: Option<usize>,
    /// Inject a deliberate defect, which must be found
    #[arg(long, value_parser = defect::parse)]
    defect: Option<Defect>,
    /// Stop after the first seed that breaks a promise
    #[arg(long)]
    first_only: bool,
    /// Print each seed
    #[arg(long)]
    verbose: bool,
    /// Print the events of the first seed in order of time, and exit
    #[arg(long)]
    timeline: bool,
}

fn main() -> ExitCode {
    machine::install();
    let arguments = Arguments::parse();
    if arguments.timeline {
        let report = run::run(arguments.first_seed, arguments.defect, true);
        report.violations.iter().for_each(|violation| println!("{violation}"));
        return if report.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let jobs = arguments.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let began = Instant::now();
    let (mut steps, mut acquired, mut failed) = (0, 0, Vec::new());
    let seeds = (arguments.first_seed..).take(arguments.seeds as usize);
    campaign::run(seeds, arguments.defect, jobs, |report| {
        steps += report.steps;
        acquired += report.acquired;
        let seed = report.seed;
        if arguments.verbose {
            println!("seed {seed}: {} steps, {} grants, trace {:016x}", report.steps, report.acquired, report.trace);
        }
        if !report.violations.is_empty() {
            println!("seed {seed} breaks a promise:");
            report.violations.iter().for_each(|violation| println!("  {violation}"));
            failed.push(seed);
        }
        !arguments.first_only || failed.is_empty()
    });
    let took = began.elapsed().max(Duration::from_millis(1)).as_secs_f64();
    let (seeds, pace) = (arguments.seeds, arguments.seeds as f64 / took);
    println!(
        "{seeds} seeds, {steps} steps, {acquired} grants in {took:.1} s: {:.0} steps/s, {pace:.1} seeds/s",
        steps as f64 / took
    );
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("{} seeds broke promises: {failed:?}", failed.len());
    ExitCode::FAILURE
}
