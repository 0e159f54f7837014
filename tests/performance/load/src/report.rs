//! The report of a run.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;
use tenure_harness::Tenured;

/// The number of violations shown.
const SHOWN: usize = 20;

/// The report of a run.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// The kind of run and its options.
    pub run: String,
    /// The duration of the run, in seconds.
    pub seconds: f64,
    /// Measurements and counters, as text.
    pub figures: Vec<(String, String)>,
    /// Measurements and counters in full, as JSON.
    pub details: serde_json::Map<String, serde_json::Value>,
    /// The violations found.
    pub violations: Vec<String>,
    /// The folder with the evidence, if there was a violation.
    pub folder: Option<PathBuf>,
}

impl Report {
    /// Creates the report of a run that starts.
    pub fn new(run: String) -> Self {
        println!("{run}");
        Self { run, ..Self::default() }
    }

    /// Adds a figure, and prints it at once.
    pub fn figure(&mut self, name: &str, value: impl fmt::Display) {
        println!("  {name}: {value}");
        self.figures.push((name.to_owned(), value.to_string()));
    }

    /// Adds a figure to the JSON details.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn detail(&mut self, name: &str, value: &impl Serialize) -> anyhow::Result<()> {
        self.details.insert(name.to_owned(), serde_json::to_value(value)?);
        Ok(())
    }

    /// Adds a violation of `rule` unless it `holds`.
    pub fn require(&mut self, holds: bool, rule: &str, found: impl fmt::Display) {
        if !holds {
            self.violations.push(format!("{rule}: {found}"));
        }
    }

    /// Returns the folder for evidence of violations, created on first use.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn folder(&mut self) -> anyhow::Result<PathBuf> {
        if let Some(folder) = &self.folder {
            return Ok(folder.clone());
        }
        let folder = tempfile::Builder::new().prefix("tenure-load-").tempdir().context("creating a folder")?.keep();
        Ok(self.folder.insert(folder).clone())
    }

    /// Completes the report: keeps the servers' logs if there was a violation, and writes the report to `file` if
    /// given.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn end(&mut self, took: Duration, servers: &[Tenured], file: Option<&Path>) -> anyhow::Result<()> {
        self.seconds = took.as_secs_f64();
        if !self.violations.is_empty() {
            for (number, server) in servers.iter().enumerate() {
                let kept = self.folder()?.join(format!("server-{number}.log"));
                std::fs::copy(server.log_file(), kept).context("copying a log")?;
            }
        }
        if let Some(file) = file {
            let text = serde_json::to_string_pretty(self)?;
            std::fs::write(file, text).with_context(|| format!("writing {}", file.display()))?;
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}: {:.0} s", self.run, self.seconds)?;
        for (name, value) in &self.figures {
            writeln!(formatter, "{name:<32} {value}")?;
        }
        for violation in self.violations.iter().take(SHOWN) {
            writeln!(formatter, "VIOLATION: {}", violation.chars().take(2_000).collect::<String>())?;
        }
        writeln!(formatter, "{} violations", self.violations.len())?;
        match &self.folder {
            Some(folder) => writeln!(formatter, "the evidence is in {}", folder.display()),
            None => Ok(()),
        }
    }
}
