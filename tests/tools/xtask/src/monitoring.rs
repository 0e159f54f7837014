//! Checks of the alerting rules by Prometheus' tools. tests/blackbox/e2e checks at a real server that their metrics
//! exist.

use anyhow::{Context, ensure};

use crate::programs::{files, find, program, root};

const ALERTS: &str = "deploy/helm/tenure/files/alerts.yaml";
const TESTS: &str = "tests/static/monitoring";

/// Checks the rules, and runs their tests.
pub fn check() -> anyhow::Result<()> {
    let promtool = find("promtool").context("promtool is not installed (Debian: apt-get install prometheus)")?;
    program(&promtool).args(["check", "rules", ALERTS]).run()?;
    let tests = files(&root().join(TESTS), &["yaml"])?;
    ensure!(!tests.is_empty(), "{TESTS} has no tests");
    program(&promtool).args(["test", "rules"]).args(tests).run()
}
