//! What came of a run.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;
use tenure_harness::Tenured;

/// How many violations are shown.
const SHOWN: usize = 20;

/// What came of a run.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// What it was.
    pub run: String,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// What was measured and counted, for people.
    pub figures: Vec<(String, String)>,
    /// The same and more, for programs.
    pub details: serde_json::Map<String, serde_json::Value>,
    /// What was not as it should be.
    pub violations: Vec<String>,
    /// Where all that tells of it is kept, if something was not.
    pub folder: Option<PathBuf>,
}

impl Report {
    /// One of a run that begins.
    pub fn new(run: String) -> Self {
        println!("{run}");
        Self { run, ..Self::default() }
    }

    /// Notes a figure, and says it at once.
    pub fn figure(&mut self, name: &str, value: impl fmt::Display) {
        println!("  {name}: {value}");
        self.figures.push((name.to_owned(), value.to_string()));
    }

    /// Notes a figure for programs.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn detail(&mut self, name: &str, value: &impl Serialize) -> anyhow::Result<()> {
        self.details.insert(name.to_owned(), serde_json::to_value(value)?);
        Ok(())
    }

    /// Notes that something is not as it should be, unless it is.
    pub fn demand(&mut self, is_so: bool, rule: &str, seen: impl fmt::Display) {
        if !is_so {
            self.violations.push(format!("{rule}: {seen}"));
        }
    }

    /// The folder of what is kept because something was wrong.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn folder(&mut self) -> anyhow::Result<PathBuf> {
        if let Some(folder) = &self.folder {
            return Ok(folder.clone());
        }
        let folder = tempfile::Builder::new().prefix("tenure-load-").tempdir().context("making a folder")?.keep();
        Ok(self.folder.insert(folder).clone())
    }

    /// Ends it: keeps the servers' logs if something was wrong, and writes it to a file if one is given.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn end(&mut self, took: Duration, servers: &[Tenured], file: Option<&Path>) -> anyhow::Result<()> {
        self.seconds = took.as_secs_f64();
        if !self.violations.is_empty() {
            for (number, server) in servers.iter().enumerate() {
                let kept = self.folder()?.join(format!("server-{number}.log"));
                std::fs::copy(server.log_file(), kept).context("keeping a log")?;
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
            Some(folder) => writeln!(formatter, "everything is in {}", folder.display()),
            None => Ok(()),
        }
    }
}
