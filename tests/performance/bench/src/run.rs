//! Runs a work: each round measures every target in turn at each level.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;

use crate::arguments::Settings;
use crate::lab::Lab;
use crate::measure::{Figures, Load};
use crate::result::{Done, Record};
use crate::work::{Candidate, Levels, Subject, Work};

/// The pause between measurements, so that trailing writes of one target do not disturb the next.
const SETTLING: Duration = Duration::from_millis(200);

/// The limit of a measurement, including set-up and clean-up.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Clients with a smaller share of the average turns than this are reported.
const STARVED: f64 = 0.5;

/// Runs the work. Failures are reported at the end, and do not stop the other measurements.
pub async fn run(work: &Work, settings: &Settings) -> Done {
    let candidates: Vec<&Candidate> =
        work.candidates.iter().filter(|candidate| settings.wants_target(&candidate.name)).collect();
    let levels = match work.levels {
        Levels::Concurrency => settings.concurrency.as_slice(),
        Levels::Own { .. } if !settings.levels.is_empty() => settings.levels.as_slice(),
        Levels::Own { full, quick } => {
            if settings.quick {
                quick
            } else {
                full
            }
        }
    };
    let lab = Arc::new(Lab::default());
    // Started on their first turn and kept until the end. Dropped before the lab, which owns their databases.
    let mut subjects: Vec<Option<Box<dyn Subject>>> = candidates.iter().map(|_| None).collect();
    let mut done = Done::default();
    let mut number = 0;
    println!("\n== {}: {}", work.name, work.title);
    for round in 1..=settings.rounds {
        for level in levels.iter().copied() {
            for (candidate, subject) in candidates.iter().zip(&mut subjects) {
                if candidate.levels.is_some_and(|levels| !levels.contains(&level)) {
                    continue;
                }
                let target = candidate.name.clone();
                number += 1;
                match turn(candidate, subject, &lab, &load(number, level, settings)).await {
                    Ok(figures) => {
                        print_line(round, level, &target, &figures);
                        done.records.push(Record { work: work.name.to_string(), target, level, round, figures });
                    }
                    Err(error) => {
                        // Its state is unknown after a failure, so it is dropped.
                        *subject = None;
                        println!("{round:>3} {level:>8}  {target:<24} FAILED: {error:#}");
                        done.failures.push(format!("{}, {target}, {level}: {error:#}", work.name));
                    }
                }
                if !settings.quick {
                    tokio::time::sleep(SETTLING).await;
                }
            }
        }
    }
    done
}

fn load(number: u64, level: usize, settings: &Settings) -> Load {
    Load { number, level, warm_up: settings.time / 4, time: settings.time, quick: settings.quick }
}

async fn turn(
    candidate: &Candidate,
    subject: &mut Option<Box<dyn Subject>>,
    lab: &Arc<Lab>,
    load: &Load,
) -> anyhow::Result<Figures> {
    let subject = match subject {
        Some(subject) => subject,
        none => none.insert(candidate.start(lab).await?),
    };
    tokio::time::timeout(TIMEOUT, subject.measure(load)).await.context("the measurement does not end")?
}

/// Prints one line per measurement.
fn print_line(round: u32, level: usize, target: &str, figures: &Figures) {
    let rate = figures.rate.map_or_else(String::new, |rate| format!("{rate:.0}/s"));
    let latency = figures.latency.map_or_else(String::new, |latency| {
        format!("p50 {:.3}  p99 {:.3}  max {:.1} ms", latency.p50, latency.p99, latency.max)
    });
    let usage = figures.usage;
    print!("{round:>3} {level:>8}  {target:<24} {rate:>11}  {latency:<40}");
    print!("  cores: client {:.2} server {:.2}", usage.client, usage.server);
    print!(" database {:.2} others {:.2}", usage.database, usage.others);
    if let Some(share) = figures.fewest_turns.filter(|share| *share < STARVED) {
        print!("  the slowest had {share:.2} of the average turns");
    }
    for (name, value) in &figures.extra {
        print!("  {name} {value:.3}");
    }
    println!();
    // Flushed, so that progress is visible also through a pipe.
    let _ = std::io::stdout().flush();
}
