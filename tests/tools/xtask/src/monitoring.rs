//! The alerting rules, checked by Prometheus' tools. tests/blackbox/e2e checks at a real server whether their metrics exist.

use std::path::PathBuf;

use anyhow::{Context, ensure};

use crate::programs::{find, program, root};

const ALERTS: &str = "deploy/helm/tenure/files/alerts.yaml";
const TESTS: &str = "tests/static/monitoring";

/// Checks the rules, and runs their tests.
pub fn check() -> anyhow::Result<()> {
    let promtool = find("promtool").context("promtool is not installed (Debian: apt-get install prometheus)")?;
    program(&promtool).args(["check", "rules", ALERTS]).run()?;
    let files = std::fs::read_dir(root().join(TESTS)).context(TESTS)?;
    let mut files: Vec<PathBuf> = files.map(|file| Ok(file?.path())).collect::<std::io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|ending| ending == "yaml"));
    files.sort();
    ensure!(!files.is_empty(), "{TESTS} has no tests");
    program(&promtool).args(["test", "rules"]).args(files).run()
}
