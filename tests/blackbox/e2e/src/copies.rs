//! Runs copies of a program, and reads their output lines.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};
use tenure_harness::wait_until;

/// The timeout of every wait.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running copy of a program. Killed when it is dropped.
#[derive(Debug)]
pub struct Copy {
    process: Child,
    said: Arc<Mutex<Vec<String>>>,
}

impl Copy {
    /// Starts a copy.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(program: &Path, arguments: &[&str], endpoints: &str) -> anyhow::Result<Self> {
        let mut process = Command::new(program)
            .args(arguments)
            .env("TENURE_ENDPOINTS", endpoints)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", program.display()))?;
        let lines = BufReader::new(process.stdout.take().context("no output")?).lines();
        let said: Arc<Mutex<Vec<String>>> = Arc::default();
        let hears = Arc::clone(&said);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                hears.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
        });
        Ok(Self { process, said })
    }

    /// All lines that it printed.
    #[must_use]
    pub fn said(&self) -> Vec<String> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The last line that it printed; empty if there is none.
    #[must_use]
    pub fn last(&self) -> String {
        self.said().pop().unwrap_or_default()
    }

    /// Waits until it prints this line.
    ///
    /// # Panics
    /// If it does not in time.
    pub async fn says(&self, line: &str) {
        wait_until(PATIENCE, &format!("\"{line}\" after {:?}", self.said()), async || {
            self.said().iter().any(|said| said == line)
        })
        .await;
    }

    /// Waits until the last line that it printed is this.
    ///
    /// # Panics
    /// If it does not in time.
    pub async fn comes_to(&self, line: &str) {
        wait_until(PATIENCE, &format!("\"{line}\" after {:?}", self.said()), async || self.last() == line).await;
    }

    /// Writes a word to its standard input.
    ///
    /// # Errors
    /// If it no longer reads.
    pub fn tell(&mut self, word: &str) -> anyhow::Result<()> {
        let input = self.process.stdin.as_mut().context("no input")?;
        Ok(writeln!(input, "{word}")?)
    }

    /// Sends it a signal.
    ///
    /// # Errors
    /// If it has exited.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let process = Pid::from_raw(i32::try_from(self.process.id())?).context("no process")?;
        Ok(kill_process(process, signal)?)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
