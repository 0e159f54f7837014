//! What runs beside other stages, because it leaves most of their time to them.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command};

use anyhow::{Context, bail};

use crate::programs::root;

/// A task of this program that runs beside others, and yields to them. What it says is shown when it is waited for.
pub struct Beside {
    task: &'static str,
    child: Child,
    log: PathBuf,
}

impl Beside {
    /// Starts one.
    pub fn start(task: &'static str) -> anyhow::Result<Self> {
        let log = root().join("target").join(format!("{task}.log"));
        let out = File::create(&log).with_context(|| log.display().to_string())?;
        // By cargo: this program may have been built anew while it ran.
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new("nice");
        command.args(["-n", "10"]).arg(cargo).args(["xtask", task]).current_dir(root());
        let child = command.stdout(out.try_clone()?).stderr(out).spawn().with_context(|| format!("starting {task}"))?;
        Ok(Self { task, child, log })
    }

    /// Waits for its end, which must be a good one.
    pub fn finish(mut self) -> anyhow::Result<()> {
        let status = self.child.wait().with_context(|| format!("waiting for {}", self.task))?;
        print!("{}", fs::read_to_string(&self.log).with_context(|| self.log.display().to_string())?);
        if !status.success() {
            bail!("{} ended with {status}", self.task);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_waited_for_and_its_failure_told() {
        Beside::start("help").expect("it starts").finish().expect("there is help");
        Beside::start("no-such-task").expect("it starts").finish().expect_err("there is none");
    }
}
