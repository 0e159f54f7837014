//! Tasks that run beside other stages, because those leave most of the processor time to them.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command};

use anyhow::{Context, bail};

use crate::excerpt::Excerpt;
use crate::programs::root;

/// A task of this program that runs beside others with low priority. Its output is shown when it is awaited.
pub struct Beside {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Beside {
    /// Starts a task with these arguments under a name. A higher niceness yields more.
    pub fn start(name: &'static str, arguments: &[&str], niceness: u8) -> anyhow::Result<Self> {
        let log = root().join("target").join(format!("{name}.log"));
        let out = File::create(&log).with_context(|| log.display().to_string())?;
        // Through cargo, since this program may have been rebuilt while it ran.
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new("nice");
        command.args(["-n", &niceness.to_string()]).arg(cargo).arg("xtask").args(arguments).current_dir(root());
        let child = command.stdout(out.try_clone()?).stderr(out).spawn().with_context(|| format!("starting {name}"))?;
        Ok(Self { name, child, log })
    }

    /// Waits for its end, which must be successful.
    pub fn finish(mut self) -> anyhow::Result<()> {
        let status = self.child.wait().with_context(|| format!("waiting for {}", self.name))?;
        let log = fs::read_to_string(&self.log).with_context(|| self.log.display().to_string())?;
        print!("{log}");
        if !status.success() {
            let mut excerpt = Excerpt::default();
            log.lines().for_each(|line| excerpt.take(line));
            bail!("{} ended with {status}\n{}", self.name, excerpt.text());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_waited_for_and_its_failure_told() {
        Beside::start("help", &["help"], 10).expect("it starts").finish().expect("there is help");
        Beside::start("nothing", &["no-such-task"], 10).expect("it starts").finish().expect_err("there is none");
    }
}
