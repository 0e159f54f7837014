//! A driver's process, which executes requests in its language.

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process_group};
use tenure_harness::freeze_group;
use tokio::process::{Child, Command};

use crate::channel::DriverChannel;

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
        // The group id is valid until the process was waited for.
        if self.child.id().is_some() { freeze_group(self.group).await } else { Ok(()) }
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
