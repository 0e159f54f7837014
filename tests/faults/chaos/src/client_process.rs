//! Client processes.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::journal::Collected;

/// How long a client may take to shut down.
const EXIT_TIMEOUT: Duration = Duration::from_secs(60);

/// The configuration of a client process.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// The servers, as URLs.
    pub servers: Vec<String>,
    /// The seed of its random choices.
    pub seed: u64,
    /// The number of its programs that use locks.
    pub workers: usize,
    /// The number of locks.
    pub locks: u32,
    /// Its language, if not Rust.
    pub language: Option<String>,
}

/// A client process, and the journals of all processes started in its place.
#[derive(Debug)]
pub struct ClientProcess {
    folder: PathBuf,
    name: usize,
    config: ClientConfig,
    runs: usize,
    child: Option<Child>,
}

impl ClientProcess {
    /// Starts a client, which keeps its journals in `folder`.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(folder: &Path, name: usize, config: ClientConfig) -> anyhow::Result<Self> {
        let mut client_process = Self { folder: folder.to_owned(), name, config, runs: 0, child: None };
        client_process.start_again()?;
        Ok(client_process)
    }

    /// Starts a new process in its place.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start_again(&mut self) -> anyhow::Result<()> {
        self.runs += 1;
        let ClientConfig { servers, seed, workers, locks, language } = &self.config;
        let mut command = Command::new(tenure_harness::built("tenure-chaos")?);
        command
            .arg("client")
            .args(["--servers", &servers.join(",")])
            .arg("--journal")
            .arg(self.journal(self.runs))
            .args(["--seed", &(seed.wrapping_add(self.runs as u64 * 1_000)).to_string()])
            .args(["--workers", &workers.to_string(), "--locks", &locks.to_string()])
            .args(language.iter().flat_map(|language| ["--language", language]));
        // The process group includes the driver of another language.
        command.process_group(0).stdin(Stdio::piped()).kill_on_drop(true);
        self.child = Some(command.spawn().context("starting a client")?);
        Ok(())
    }

    fn journal(&self, run: usize) -> PathBuf {
        self.folder.join(format!("client-{}-{run}.jsonl", self.name))
    }

    /// Kills it with SIGKILL.
    ///
    /// # Errors
    /// If it is not running.
    pub async fn kill(&mut self) -> anyhow::Result<()> {
        self.signal(Signal::KILL)?;
        let mut child = self.child.take().context("the client is not running")?;
        child.wait().await.map(drop).context("killing a client")
    }

    /// Freezes or resumes the process.
    ///
    /// # Errors
    /// If it is not running.
    pub fn freeze(&self, freezes: bool) -> anyhow::Result<()> {
        self.signal(if freezes { Signal::STOP } else { Signal::CONT })
    }

    fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let id = self.child.as_ref().and_then(Child::id).and_then(|id| Pid::from_raw(id.cast_signed()));
        kill_process_group(id.context("the client is not running")?, signal).context("signalling a client")
    }

    /// Makes the client start nothing new, and waits for it to exit.
    ///
    /// # Errors
    /// If it does not exit in time, or with a failure; the error contains its message.
    pub async fn finish(&mut self) -> anyhow::Result<()> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        drop(child.stdin.take());
        let ended = timeout(EXIT_TIMEOUT, child.wait()).await;
        let status = ended.with_context(|| format!("client {} hangs", self.name))??;
        anyhow::ensure!(status.success(), "client {} ended with {status}", self.name);
        Ok(())
    }

    /// Its language.
    pub fn language(&self) -> &str {
        self.config.language.as_deref().unwrap_or("rust")
    }

    /// Returns the number of its grants.
    ///
    /// # Errors
    /// If a journal cannot be read.
    pub fn grants(&self) -> anyhow::Result<usize> {
        let mut own = Collected::default();
        self.collect(&mut own)?;
        Ok(own.history.acquired().count())
    }

    /// Adds its journals to `collected`.
    ///
    /// # Errors
    /// If a journal cannot be read.
    pub fn collect(&self, collected: &mut Collected) -> anyhow::Result<()> {
        (1..=self.runs)
            .map(|run| self.journal(run))
            .filter(|file| file.exists())
            .try_for_each(|file| collected.add(&file))
    }
}
