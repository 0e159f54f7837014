//! Tests of a package that run apart from the others, because they load the machine or measure durations.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use crate::programs::{Program, linted, program, root};

/// A package whose tests run apart.
pub struct Apart {
    folder: PathBuf,
    tests: Vec<PathBuf>,
}

impl Apart {
    /// Builds the tests of the package in this folder, together with all others: for a single package cargo would
    /// select other features, and rebuild most of it.
    pub fn build(folder: &str) -> anyhow::Result<Self> {
        Self::build_with(folder, &[])
    }

    /// Builds one program of tests of the package in this folder, with the features that cargo selects for all packages.
    pub fn build_one(folder: &str, name: &str) -> anyhow::Result<Self> {
        Self::build_with(folder, &["--test", name])
    }

    fn build_with(folder: &str, targets: &[&str]) -> anyhow::Result<Self> {
        let folder = root().join(folder);
        let messages =
            linted(&["test", "--locked", "--workspace", "--no-run", "--message-format=json-render-diagnostics"])
                .args(targets)
                .output()
                .context("building the tests")?;
        let tests: Vec<PathBuf> = messages.lines().filter_map(|line| test_of(&folder, line)).collect();
        ensure!(!tests.is_empty(), "{} has no tests", folder.display());
        Ok(Self { folder, tests })
    }

    /// Runs all tests with these arguments and this environment, one at a time unless that says otherwise, and fails at
    /// the end if one failed.
    pub fn run(&self, arguments: &[&str], environment: &[(&str, &str)]) -> anyhow::Result<()> {
        let mut failed = Vec::new();
        for test in &self.tests {
            println!("\n     Running {}", test.display());
            if let Err(error) = self.program(test, environment).args(arguments).run() {
                failed.push(format!("{error:#}"));
            }
        }
        if !failed.is_empty() {
            bail!("{}", failed.join("\n"));
        }
        Ok(())
    }

    /// Runs the tests with these names, as [`Apart::run`] does, and returns how many there are.
    pub fn run_named(&self, is_meant: impl Fn(&str) -> bool, environment: &[(&str, &str)]) -> anyhow::Result<usize> {
        let mut count = 0;
        for test in &self.tests {
            let list = self.program(test, &[]).args(["--list", "--format=terse"]).output()?;
            let names = list.lines().filter_map(|line| line.strip_suffix(": test"));
            let names: Vec<&str> = names.filter(|name| is_meant(name)).collect();
            if !names.is_empty() {
                count += names.len();
                self.program(test, environment).args(["--exact"]).args(names).run()?;
            }
        }
        Ok(count)
    }

    fn program(&self, test: &Path, environment: &[(&str, &str)]) -> Program {
        let mut program = program(test);
        program.folder(&self.folder);
        program.env("CARGO_MANIFEST_DIR", &self.folder.display().to_string()).env("RUST_TEST_THREADS", "1");
        for (name, value) in environment {
            program.env(name, value);
        }
        program
    }
}

/// The executable of a test, if this cargo message is about one of the package in that folder.
fn test_of(folder: &Path, message: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(message).ok()?;
    let is_of = Path::new(message.get("manifest_path")?.as_str()?) == folder.join("Cargo.toml");
    let is_test = message.pointer("/profile/test")?.as_bool()?;
    let program = message.get("executable")?.as_str()?;
    (is_of && is_test).then(|| program.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tests_of_the_package_are_taken() {
        let message = |manifest: &str, test: bool, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"{manifest}","profile":{{"test":{test}}},"executable":{executable}}}"#
            )
        };
        let folder = Path::new("/there/tests/blackbox/e2e");
        let found = |message: &str| test_of(folder, message);
        let program = Some(PathBuf::from("/t/crashes-1"));
        assert_eq!(found(&message("/there/tests/blackbox/e2e/Cargo.toml", true, "\"/t/crashes-1\"")), program);
        assert_eq!(found(&message("/there/tests/blackbox/e2e/Cargo.toml", false, "\"/t/crashes-1\"")), None);
        assert_eq!(found(&message("/there/tests/performance/load/Cargo.toml", true, "\"/t/crashes-1\"")), None);
        assert_eq!(found(&message("/there/tests/blackbox/e2e/Cargo.toml", true, "null")), None);
        assert_eq!(found("no JSON"), None);
    }
}
