//! Controls a `writer` process step by step, and pauses it between steps.

use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};
use tenure_harness::freeze_process;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// Longer than any step takes, including one that waits for a TTL.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whether a writer's transactions begin with the check of its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fencing {
    /// Transactions begin with the check.
    On,
    /// Transactions do not check the token.
    Off,
}

/// The process.
#[derive(Debug)]
pub struct Writer {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Writer {
    /// Starts one. `program` is the path of the writer program.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(
        program: &str,
        endpoints: &str,
        lock: &str,
        ttl: Duration,
        database_url: &str,
        fencing: Fencing,
    ) -> anyhow::Result<Self> {
        let fencing = if fencing == Fencing::On { "fenced" } else { "unfenced" };
        let mut child = Command::new(program)
            .args([endpoints, lock, &ttl.as_millis().to_string(), database_url, fencing])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("starting a writer")?;
        let input = child.stdin.take().context("no input")?;
        let output = BufReader::new(child.stdout.take().context("no output")?).lines();
        Ok(Self { child, input, output })
    }

    /// Makes it execute a step, and returns its report.
    ///
    /// # Panics
    /// If it prints nothing in time.
    pub async fn step(&mut self, step: &str) -> String {
        self.send(step).await;
        match self.report_within(PATIENCE).await {
            Some(report) => report,
            None => panic!("no report of {step}"),
        }
    }

    /// Makes it execute a step, and returns the number after this word in its report.
    ///
    /// # Panics
    /// If it prints something else, or nothing in time.
    pub async fn number(&mut self, step: &str, word: &str) -> i64 {
        let report = self.step(step).await;
        let number = report.strip_prefix(word).and_then(|rest| rest.trim().parse().ok());
        number.unwrap_or_else(|| panic!("{step}: {report}"))
    }

    /// Makes it start a step.
    ///
    /// # Panics
    /// If it has exited.
    pub async fn send(&mut self, step: &str) {
        let sent = self.input.write_all(format!("{step}\n").as_bytes()).await;
        sent.unwrap_or_else(|error| panic!("sending a writer the step {step}: {error}"));
    }

    /// Its next line within this time, if any.
    ///
    /// # Panics
    /// If it has exited.
    pub async fn report_within(&mut self, limit: Duration) -> Option<String> {
        match timeout(limit, self.output.next_line()).await {
            Ok(Ok(Some(report))) => Some(report),
            Ok(ended) => panic!("a writer has ended: {ended:?}"),
            Err(_) => None,
        }
    }

    /// Freezes it at any point, with SIGSTOP.
    ///
    /// # Panics
    /// If it does not stop.
    pub async fn pause(&self) {
        freeze_process(self.process()).await.unwrap_or_else(|error| panic!("freezing a writer: {error}"));
    }

    /// Resumes it.
    pub fn resume(&self) {
        kill_process(self.process(), Signal::CONT).unwrap_or_else(|error| panic!("resuming a writer: {error}"));
    }

    fn process(&self) -> Pid {
        let id = self.child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        id.unwrap_or_else(|| panic!("a writer has ended"))
    }
}
