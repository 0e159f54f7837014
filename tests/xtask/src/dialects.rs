//! What databases are asked, read by the parsers of engines that speak the same language: tests/dialects.

use std::fs;

use anyhow::Context;

use crate::programs::{program, root};

/// Checks all statements. The example that prints them must have been built.
pub fn check() -> anyhow::Result<()> {
    let printed = program(root().join("target/debug/examples/dialects")).output().context("printing the statements")?;
    let folder = tempfile::tempdir()?;
    let list = folder.path().join("dialects.json");
    fs::write(&list, printed)?;
    program(root().join("tests/dialects/check")).env("DIALECTS", &list.display().to_string()).run()
}
