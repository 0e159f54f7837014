//! Proves a release: each part is installed where nothing else of Tenure is, and used with the released server.

use super::Making;
use crate::chart;
use crate::programs::{find, program, root};

/// Installs and runs a part: see there.
const SCRIPT: &str = include_str!("prove.sh");

/// The parts that are proved.
pub(super) const PARTS: [&str; 10] =
    ["programs", "arm64", "debian", "image", "chart", "crates", "go", "python", "maven", "npm"];

pub(super) fn prove(making: &Making, part: &str) -> anyhow::Result<()> {
    let mut bash = program(find("bash").unwrap_or_else(|| "bash".into()));
    bash.folder(&root()).args(["-c", SCRIPT, "prove"]).args([&making.into]).args([&making.version, part]);
    bash.args([std::env::current_exe()?, chart::helm()?]).run()
}
