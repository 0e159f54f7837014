//! The bench, in release builds.

use crate::packages;
use crate::programs::{cargo, program, root};

/// Where the results are kept.
const OUT: &str = "tests/bench";

/// Installs and builds what it takes, and runs it.
pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    packages::provide()?;
    cargo(&["build", "--locked", "--release", "--package", "tenure-server", "--package", "tenure-bench", "--bins"])
        .run()?;
    // The short form proves that everything runs: its figures are not kept.
    let keeps = !arguments.iter().any(|argument| argument == "--quick" || argument.starts_with("--out"));
    let out: &[&str] = if keeps { &["--out", OUT] } else { &[] };
    program(root().join("target/release/tenure-bench")).args(out).args(arguments).run()
}
