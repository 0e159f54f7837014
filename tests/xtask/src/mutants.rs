//! Mutation testing of the core.

use anyhow::bail;

use crate::programs::{cargo, find};

/// Changes the core in every small way; what is left out, and why, is in `.cargo/mutants.toml`.
pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    if find("cargo-mutants").is_none() {
        bail!("cargo-mutants is not installed: cargo install cargo-mutants --locked");
    }
    let mut run = cargo(&["mutants", "--package", "tenure-core", "--output", "target"]);
    // A failed property need not be made small, and is no regression to keep.
    run.env("PROPTEST_MAX_SHRINK_ITERS", "0").env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1");
    run.args(arguments).run()
}
