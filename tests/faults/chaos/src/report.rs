//! The report of a run.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use tenure_checker::{History, Outcome, Violation};

/// The number of violations shown. The others are in the folder.
const MAX_SHOWN: usize = 20;

/// The report of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// The kind of run and its options.
    pub run: String,
    /// The duration of the run.
    pub time: Duration,
    /// The number of calls by outcome.
    pub calls: BTreeMap<&'static str, usize>,
    /// The number of events in the log.
    pub events: usize,
    /// Other figures: faults by kind, durations of failovers.
    pub figures: Vec<(String, String)>,
    /// The violations found.
    pub violations: Vec<Violation>,
    /// The folder with all logs and journals, if there was a violation.
    pub folder: Option<PathBuf>,
}

impl Report {
    /// Counts the calls of clients by outcome.
    pub fn count(&mut self, history: &History) {
        for call in &history.calls {
            let outcome = match call.outcome {
                Outcome::Acquired(_) => "granted",
                Outcome::Busy => "busy",
                Outcome::Done => "released",
                Outcome::Unknown(_) => "unknown",
            };
            *self.calls.entry(outcome).or_default() += 1;
        }
        self.calls.insert("renewals", history.renewals.len());
        self.calls.insert("rejected", history.rejected.len());
        self.calls.insert("valid holds seen", history.valid_holds.len());
        self.calls.insert("watch items", history.watches.values().map(Vec::len).sum());
    }

    /// Adds a violation.
    pub fn add_violation(&mut self, rule: &'static str, seen: impl fmt::Display) {
        self.violations.push(Violation { rule: rule.into(), seen: seen.to_string() });
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}: {:.0} s, {} events", self.run, self.time.as_secs_f64(), self.events)?;
        let calls: Vec<String> = self.calls.iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
        writeln!(formatter, "calls: {}", calls.join(", "))?;
        for (name, value) in &self.figures {
            writeln!(formatter, "{name:<24} {value}")?;
        }
        for violation in self.violations.iter().take(MAX_SHOWN) {
            writeln!(formatter, "VIOLATION: {}", violation.to_string().chars().take(2_000).collect::<String>())?;
        }
        writeln!(formatter, "{} violations", self.violations.len())?;
        match &self.folder {
            Some(folder) => writeln!(formatter, "all files are in {}", folder.display()),
            None => Ok(()),
        }
    }
}
