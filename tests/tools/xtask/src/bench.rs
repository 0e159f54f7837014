//! The bench, in release builds.

use crate::engines;
use crate::packages::{self, unstable};
use crate::programs::{cargo, program, root};

/// The folder of the committed results.
const OUT: &str = "tests/results/bench";

/// With these arguments the results go elsewhere, or are incomplete and not worth keeping.
const NOT_KEPT: [&str; 5] = ["--help", "--level", "--out", "--quick", "--target"];

/// Installs and builds the requirements, and runs it, with the newest PostgreSQL.
pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    packages::provide()?;
    unstable::PEERS.provide()?;
    let postgres = engines::newest_postgres()?;
    let packages = ["tenure-server", "tenure-bench", "tenure-driver"].map(|package| ["--package", package]);
    cargo(&["build", "--locked", "--release", "--bins"]).args(packages.as_flattened()).run()?;
    let keeps = !arguments.iter().any(|argument| NOT_KEPT.iter().any(|other| argument.starts_with(other)));
    let out: &[&str] = if keeps { &["--out", OUT] } else { &[] };
    program(root().join("target/release/tenure-bench")).args(out).args(arguments).env("PATH", &postgres.path).run()
}
