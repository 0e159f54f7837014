//! Mutation testing of the core.

use anyhow::bail;

use crate::programs::{cargo, find};

/// Runs all mutations of the core; `.cargo/mutants.toml` has the exclusions with reasons.
pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    if find("cargo-mutants").is_none() {
        bail!("cargo-mutants is not installed: cargo install cargo-mutants --locked");
    }
    let mut run = cargo(&["mutants", "--package", "tenure-core", "--output", "target"]);
    // A failed property needs no shrinking, and is not a regression to keep.
    run.env("PROPTEST_MAX_SHRINK_ITERS", "0").env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1");
    run.args(arguments).run()
}
