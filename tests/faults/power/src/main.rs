//! Command line of the power cuts.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::bail;
use clap::Parser;
use rand::SeedableRng;
use rand::rngs::StdRng;
use tenure_power::campaign::{self, Plan};
use tenure_power::failing::{self, Failure};
use tenure_power::{Barriers, Kind, obstacle};

/// Cuts the power of a database's disk right after replies to clients, and checks that no acknowledged change is lost.
/// Needs root, /dev/fuse and loop devices.
#[derive(Debug, Parser)]
struct Arguments {
    /// Number of cuts of each database
    #[arg(long, default_value_t = 20)]
    cuts: usize,
    /// Only this database
    #[arg(long, value_enum)]
    store: Option<Kind>,
    /// Disable flushes of the file system, which must be found to lose data
    #[arg(long)]
    without_sync: bool,
    /// Seed of the random choices. Runs of one seed still differ by the timing of the database
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Instead: number of disks of each database whose flushes fail while clients work, before the power is cut. In
    /// turn, one flush fails, all further flushes fail, and one flush fails and loses its writes
    #[arg(long, default_value_t = 0)]
    failing: usize,
    /// Print each cut
    #[arg(long)]
    verbose: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tenure-power: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if let Some(obstacle) = obstacle() {
        bail!("the power cannot be cut on this machine: {obstacle}");
    }
    let kinds = arguments.store.map_or(vec![Kind::Sqlite, Kind::Postgres, Kind::Mariadb], |kind| vec![kind]);
    let mut unexpected = Vec::new();
    for kind in kinds {
        let losses = if arguments.failing > 0 { fail(arguments, kind).await? } else { cut(arguments, kind).await? };
        if (losses > 0) != arguments.without_sync {
            unexpected.push(kind.name());
        }
    }
    match (unexpected.as_slice(), arguments.without_sync) {
        ([], _) => Ok(()),
        (names, false) => bail!("power cuts lost data: {}", names.join(", ")),
        (names, true) => bail!("power cuts lost no data, though nothing was flushed: {}", names.join(", ")),
    }
}

/// Returns the number of failures with faults.
async fn fail(arguments: &Arguments, kind: Kind) -> anyhow::Result<usize> {
    let mut random = StdRng::seed_from_u64(arguments.seed);
    let (mut losses, mut answers) = (0, 0);
    for number in 0..arguments.failing {
        let failure = [Failure::Once, Failure::ForGood, Failure::OnceAndLoses][number % 3];
        let outcomes = failing::fail(kind, failure, &mut random).await?;
        losses += usize::from(outcomes.iter().any(|outcome| !outcome.faults.is_empty()));
        answers += outcomes[0].answers;
        for outcome in outcomes {
            if arguments.verbose || !outcome.faults.is_empty() {
                println!("  {failure}; {outcome}");
            }
        }
    }
    println!("{}: {} disks failed to flush, {answers} answers: {losses} lost data", kind.name(), arguments.failing);
    Ok(losses)
}

/// Returns the number of cuts with faults.
async fn cut(arguments: &Arguments, kind: Kind) -> anyhow::Result<usize> {
    let barriers = if arguments.without_sync { Barriers::Off } else { Barriers::On };
    let plan = Plan { kind, cuts: arguments.cuts, barriers };
    let mut random = StdRng::seed_from_u64(arguments.seed);
    let began = Instant::now();
    let run = campaign::record(&plan, &mut random).await?;
    let (answers, writes, flushes) = (run.answers(), run.writes(), run.flushes());
    println!(
        "{}: {answers} answers, {writes} writes and {flushes} flushes of the disk in {:.1} s",
        kind.name(),
        began.elapsed().as_secs_f64()
    );
    let (mut losses, mut again, mut repaired, mut volatile, mut most) = (0, 0, 0, 0, 0);
    campaign::cut(&plan, &run, &mut random, |outcome| {
        losses += usize::from(!outcome.faults.is_empty());
        again += usize::from(outcome.again.is_some());
        repaired += usize::from(outcome.repaired);
        volatile += outcome.volatile;
        most = most.max(outcome.volatile);
        if arguments.verbose || !outcome.faults.is_empty() {
            println!("  {outcome}");
        }
    })
    .await?;
    println!(
        "{}: {} cuts, {again} of them with another one during recovery: {losses} lost data. {:.1} s; {:.1} writes \
        were not flushed on average and {most} at the most; {repaired} file systems had to be repaired",
        kind.name(),
        plan.cuts,
        began.elapsed().as_secs_f64(),
        volatile as f64 / plan.cuts.max(1) as f64
    );
    Ok(losses)
}
