//! The client processes.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::journal::Collected;

/// How long a client may take to bring to an end what it does.
const PATIENCE: Duration = Duration::from_secs(30);

/// A client process, and the journals of all that were started in its place.
#[derive(Debug)]
pub struct Crew {
    folder: PathBuf,
    name: usize,
    servers: String,
    seed: u64,
    workers: usize,
    locks: u32,
    runs: usize,
    child: Option<Child>,
}

impl Crew {
    /// Starts one. It keeps its journals in `folder`.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(
        folder: &Path,
        name: usize,
        servers: &[String],
        seed: u64,
        workers: usize,
        locks: u32,
    ) -> anyhow::Result<Self> {
        let (folder, servers) = (folder.to_owned(), servers.join(","));
        let mut crew = Self { folder, name, servers, seed, workers, locks, runs: 0, child: None };
        crew.start_again()?;
        Ok(crew)
    }

    /// Starts another in its place.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start_again(&mut self) -> anyhow::Result<()> {
        self.runs += 1;
        let child = Command::new(tenure_harness::built("tenure-chaos")?)
            .arg("client")
            .args(["--servers", &self.servers])
            .arg("--journal")
            .arg(self.journal(self.runs))
            .args(["--seed", &(self.seed.wrapping_add(self.runs as u64 * 1_000)).to_string()])
            .args(["--workers", &self.workers.to_string(), "--locks", &self.locks.to_string()])
            .stdin(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("starting a client")?;
        self.child = Some(child);
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
        let mut child = self.child.take().context("the client is not running")?;
        child.kill().await.context("killing a client")
    }

    /// Freezes it, or lets it run on.
    ///
    /// # Errors
    /// If it is not running.
    pub fn freeze(&self, freezes: bool) -> anyhow::Result<()> {
        let id = self.child.as_ref().and_then(Child::id).and_then(|id| Pid::from_raw(id.cast_signed()));
        let signal = if freezes { Signal::STOP } else { Signal::CONT };
        kill_process(id.context("the client is not running")?, signal).context("signalling a client")
    }

    /// Has it begin nothing more, and waits for its end. What it complains of, if it ends in any other way.
    ///
    /// # Errors
    /// If it does not end in time, or not well.
    pub async fn finish(&mut self) -> anyhow::Result<()> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        drop(child.stdin.take());
        let ended = timeout(PATIENCE, child.wait()).await;
        let status = ended.with_context(|| format!("client {} hangs", self.name))??;
        anyhow::ensure!(status.success(), "client {} ended with {status}", self.name);
        Ok(())
    }

    /// Collects what was written.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn collect(&self, collected: &mut Collected) -> anyhow::Result<()> {
        (1..=self.runs)
            .map(|run| self.journal(run))
            .filter(|file| file.exists())
            .try_for_each(|file| collected.add(&file))
    }
}
