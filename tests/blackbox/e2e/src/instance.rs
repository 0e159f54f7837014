//! Runs instances of a program, and reads their output lines.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};
use tenure_harness::{freeze_process, wait_until};

/// The timeout of every wait.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running instance of a program. Killed when it is dropped.
#[derive(Debug)]
pub struct Instance {
    process: Child,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Instance {
    /// Starts an instance.
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
        let output = BufReader::new(process.stdout.take().context("no output")?).lines();
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let printed = Arc::clone(&lines);
        std::thread::spawn(move || {
            for line in output.map_while(Result::ok) {
                printed.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
        });
        Ok(Self { process, lines })
    }

    /// All lines that it printed.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The last line that it printed; empty if there is none.
    #[must_use]
    pub fn last_line(&self) -> String {
        self.lines().pop().unwrap_or_default()
    }

    /// Waits until it prints this line.
    ///
    /// # Panics
    /// If it does not in time.
    pub async fn wait_for_line(&self, line: &str) {
        wait_until(PATIENCE, &format!("\"{line}\" after {:?}", self.lines()), async || {
            self.lines().iter().any(|printed| printed == line)
        })
        .await;
    }

    /// Waits until the last line that it printed is this.
    ///
    /// # Panics
    /// If it does not in time.
    pub async fn wait_for_last_line(&self, line: &str) {
        wait_until(PATIENCE, &format!("\"{line}\" after {:?}", self.lines()), async || self.last_line() == line).await;
    }

    /// Writes a line to its standard input.
    ///
    /// # Errors
    /// If it no longer reads.
    pub fn send(&mut self, line: &str) -> anyhow::Result<()> {
        let input = self.process.stdin.as_mut().context("no input")?;
        Ok(writeln!(input, "{line}")?)
    }

    /// Sends it a signal.
    ///
    /// # Errors
    /// If it has exited.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        Ok(kill_process(Pid::from_child(&self.process), signal)?)
    }

    /// Freezes it with SIGSTOP, until SIGCONT.
    ///
    /// # Errors
    /// If it has exited, or does not stop.
    pub async fn freeze(&self) -> anyhow::Result<()> {
        freeze_process(Pid::from_child(&self.process)).await
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
