//! A driver's process, which executes requests in its language.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};
use tokio::time::sleep;

use crate::channel::DriverChannel;

/// How long freezing may take ...
const FREEZE: Duration = Duration::from_secs(10);

/// ... and the interval of the checks.
const PAUSE: Duration = Duration::from_millis(5);

/// A driver's process, in a process group of its own.
#[derive(Debug)]
pub struct Driver {
    child: Child,
    group: Pid,
    /// Whether a fault has been injected into it.
    pub(crate) had_fault: bool,
    /// The number of scenarios that it has run.
    pub(crate) runs: u32,
    /// The channel to it.
    pub channel: DriverChannel,
}

impl Driver {
    /// Starts a driver.
    ///
    /// # Errors
    /// If the command cannot be run.
    pub fn start(mut command: Command) -> anyhow::Result<Self> {
        command.process_group(0);
        let (child, channel) = DriverChannel::begin(command)?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed())).context("a driver without a process")?;
        Ok(Self { child, group, had_fault: false, runs: 0, channel })
    }

    /// Kills it, with all its descendants.
    pub async fn kill(&mut self) {
        self.had_fault = true;
        self.signal(Signal::KILL);
        self.channel.end();
        let _ = self.child.wait().await;
    }

    /// Freezes it, and waits until all its threads have stopped: on a busy machine it may continue for a while, and
    /// receive a request.
    ///
    /// # Errors
    /// If they do not stop.
    pub async fn freeze(&mut self) -> anyhow::Result<()> {
        self.had_fault = true;
        self.signal(Signal::STOP);
        let began = Instant::now();
        while !is_frozen(self.group) {
            ensure!(began.elapsed() < FREEZE, "the driver does not freeze");
            sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Resumes it.
    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    /// Distinguishes the names of this scenario from those of earlier ones.
    pub(crate) fn suffix(&self) -> String {
        if self.runs == 0 { String::new() } else { format!("#{}", self.runs) }
    }

    fn signal(&self, signal: Signal) {
        // The group id is valid until the process was waited for.
        if self.child.id().is_some() {
            let _ = kill_process_group(self.group, signal);
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// Whether all threads of all processes in a group have stopped or ended.
fn is_frozen(group: Pid) -> bool {
    let of = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let members = of(Path::new("/proc")).filter(|process| state_and_group(process).is_some_and(|(_, of)| of == group));
    let mut threads = members.flat_map(|process| of(&process.join("task")).collect::<Vec<_>>());
    threads.all(|thread| state_and_group(&thread).is_none_or(|(state, _)| "TZX".contains(state)))
}

/// The state letter and the group of a process or thread, from its `stat`: `id (name) state parent group ...`.
fn state_and_group(folder: &Path) -> Option<(char, Pid)> {
    let stat = fs::read_to_string(folder.join("stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?.chars().next()?;
    let group = Pid::from_raw(fields.nth(1)?.parse().ok()?)?;
    Some((state, group))
}
