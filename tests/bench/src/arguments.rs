//! What is measured, how often and for how long.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::target::empty;
use crate::work::killed::victim;

/// Measures Tenure beside its peers
#[derive(Debug, Parser)]
pub struct Arguments {
    /// Another part than the bench itself
    #[command(subcommand)]
    pub part: Option<Part>,
    /// Only this work. May be given several times
    #[arg(long, value_name = "WORK")]
    only: Vec<String>,
    /// Only targets whose name contains this. May be given several times
    #[arg(long, value_name = "NAME")]
    target: Vec<String>,
    /// How often everything is measured
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// For how long each measurement counts, in seconds, after a warm-up of a quarter of that
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Instead of a work's own levels, where those are not clients: waiters, watchers, locks and so on, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "LEVEL")]
    level: Vec<usize>,
    /// How many clients work at once, separated by commas
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16, 64, 256, 1024])]
    concurrency: Vec<usize>,
    /// Proves only that everything runs: one short round of the least that each work can do
    #[arg(long)]
    quick: bool,
    /// Where the results go: results/*.json, README.md, *.svg [default: nowhere; `cargo xtask bench`: tests/results/bench]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// What this program is for a bench that runs already.
#[derive(Clone, Debug, Subcommand)]
pub enum Part {
    /// Serves a call that does nothing
    #[command(name = empty::ARGUMENT, hide = true)]
    ServeEmpty {
        /// Where
        port: u16,
    },
    /// Holds a lock until it is killed
    #[command(name = victim::ARGUMENT, hide = true)]
    Hold(victim::Victim),
}

/// How long a measurement counts in the short form.
const QUICK: Duration = Duration::from_millis(200);

/// The arguments, with what follows from them.
#[derive(Debug)]
pub struct Settings {
    works: Vec<String>,
    targets: Vec<String>,
    /// How often everything is measured.
    pub rounds: u32,
    /// For how long a measurement counts.
    pub time: Duration,
    /// How many clients work at once, in works where that is what varies.
    pub concurrency: Vec<usize>,
    /// Instead of a work's own levels. Empty: those.
    pub levels: Vec<usize>,
    /// Whether only to prove that everything runs.
    pub quick: bool,
    /// Where the results go.
    pub out: Option<PathBuf>,
}

impl Arguments {
    /// What follows from them.
    pub fn settings(self) -> Settings {
        let long = Duration::from_secs_f64(self.seconds);
        Settings {
            works: self.only,
            targets: self.target,
            rounds: if self.quick { 1 } else { self.rounds },
            time: if self.quick { QUICK } else { long },
            concurrency: if self.quick { vec![1, 8] } else { self.concurrency },
            levels: self.level,
            quick: self.quick,
            out: self.out,
        }
    }
}

impl Settings {
    /// Whether this work is asked for.
    pub fn wants_work(&self, name: &str) -> bool {
        self.works.is_empty() || self.works.iter().any(|work| work == name)
    }

    /// Whether this target is asked for.
    pub fn wants_target(&self, name: &str) -> bool {
        self.targets.is_empty() || self.targets.iter().any(|part| name.contains(part))
    }
}
