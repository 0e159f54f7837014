//! Stages and checks that run beside others, as processes of their own.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Child;

use anyhow::{Context, bail};

use crate::Stage;
use crate::excerpt::Excerpt;
use crate::programs::{Program, program, root};

/// A program that runs beside others. Its output is shown when it is awaited.
pub struct Beside {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Beside {
    /// Starts `cargo xtask test` for these stages. A higher niceness yields more.
    pub fn test(stages: &[Stage], niceness: u8) -> anyhow::Result<Self> {
        let names: Vec<String> = stages.iter().map(|stage| stage.name()).collect();
        let mut command = program("nice");
        // Through cargo, since this program may have been rebuilt while it ran.
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        command.args(["-n", &niceness.to_string()]).args([cargo]).args(["xtask", "test"]);
        command.args(names.iter().flat_map(|name| ["--only", name]));
        Self::start(names.join("-"), command)
    }

    /// Starts a program. The name is that of its log.
    pub fn start(name: String, mut program: Program) -> anyhow::Result<Self> {
        let log = root().join("target").join(format!("{name}.log"));
        let child = program.start(File::create(&log).with_context(|| log.display().to_string())?)?;
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
    fn a_program_is_awaited_and_its_failure_reported() {
        let start = |name: &str, script: &str| {
            let mut shell = program("sh");
            shell.args(["-c", script]);
            Beside::start(name.to_owned(), shell).expect("it starts")
        };
        start("succeeds", "echo fine").finish().expect("it succeeds");
        let failure = start("fails", "echo 'error: no such thing'; exit 3").finish().expect_err("it fails").to_string();
        assert!(failure.contains("exit status: 3") && failure.contains("no such thing"), "{failure}");
    }
}
