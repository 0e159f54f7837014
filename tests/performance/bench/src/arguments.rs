//! Arguments: works, targets, rounds and durations.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::target::empty;
use crate::work::killed::holder;

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
    /// Instead of a work's own levels, where those are not clients: waiters, watchers, locks and so on, separated by
    /// commas
    #[arg(long, value_delimiter = ',', value_name = "LEVEL")]
    level: Vec<usize>,
    /// How many clients work at once, separated by commas
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16, 64, 256, 1024])]
    concurrency: Vec<usize>,
    /// Proves only that everything runs: one short round of the least that each work can do
    #[arg(long)]
    quick: bool,
    /// Where the results go: results/*.json, README.md, *.svg [default: nowhere; `cargo xtask bench`:
    /// tests/results/bench]
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
    #[command(name = holder::ARGUMENT, hide = true)]
    Hold(holder::Holder),
}

/// The numbers of concurrent clients in the short form.
pub const QUICK_CONCURRENCY: [usize; 2] = [1, 8];

/// The duration of a measurement in the short form.
const QUICK: Duration = Duration::from_millis(200);

/// The arguments, with values derived from them.
#[derive(Debug)]
pub struct Settings {
    works: Vec<String>,
    targets: Vec<String>,
    /// The number of rounds.
    pub rounds: u32,
    /// The duration of a measurement.
    pub time: Duration,
    /// The numbers of concurrent clients, in works whose levels are clients.
    pub concurrency: Vec<usize>,
    /// Overrides a work's own levels. Empty: no override.
    pub levels: Vec<usize>,
    /// Whether this is only a smoke test.
    pub quick: bool,
    /// The folder of the results.
    pub out: Option<PathBuf>,
}

impl Arguments {
    /// Derives the settings.
    pub fn settings(self) -> Settings {
        let long = Duration::from_secs_f64(self.seconds);
        Settings {
            works: self.only,
            targets: self.target,
            rounds: if self.quick { 1 } else { self.rounds },
            time: if self.quick { QUICK } else { long },
            concurrency: if self.quick { QUICK_CONCURRENCY.to_vec() } else { self.concurrency },
            levels: self.level,
            quick: self.quick,
            out: self.out,
        }
    }
}

impl Settings {
    /// Whether this work is selected.
    pub fn wants_work(&self, name: &str) -> bool {
        self.works.is_empty() || self.works.iter().any(|work| work == name)
    }

    /// Whether this target is selected.
    pub fn wants_target(&self, name: &str) -> bool {
        self.targets.is_empty() || self.targets.iter().any(|part| name.contains(part))
    }
}
