//! An earlier version of the server, tested beside this one.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use crate::apart::Apart;
use crate::programs::{cargo, program, root};

/// Which version to come from.
#[derive(Args)]
pub struct Upgrade {
    /// A commit, as git knows it.
    #[arg(long, value_name = "COMMIT")]
    from: String,
}

/// The folder of the builds of earlier versions, relative to the root: their files, and cargo's output.
const FILES: &str = "target/upgrade/files";
const BUILT: &str = "target/upgrade/target";

/// Replaces servers of the earlier version by this one, and back, under load.
pub fn run(upgrade: &Upgrade) -> anyhow::Result<()> {
    let older = build(&upgrade.from)?;
    let older = older.to_str().context("the path of the repository is not UTF-8")?;
    Apart::build("tests/blackbox/e2e")?.run(&["upgrade::"], &[("TENURE_UPGRADE_FROM", older)])
}

fn build(commit: &str) -> anyhow::Result<PathBuf> {
    let (files, built) = (root().join(FILES), root().join(BUILT));
    if files.exists() {
        fs::remove_dir_all(&files)?;
    }
    fs::create_dir_all(&files)?;
    let archive = root().join("target/upgrade/files.tar");
    program("git").args(["archive", "--output"]).args([archive.as_os_str(), commit.as_ref()]).run()?;
    program("tar").args([OsStr::new("-xf"), archive.as_ref(), "-C".as_ref(), files.as_ref()]).run()?;
    let mut build = cargo(&["build", "--locked", "--package", "tenure-server", "--bins"]);
    build
        .args([OsStr::new("--target-dir"), built.as_ref()])
        .args([OsStr::new("--manifest-path"), files.join("Cargo.toml").as_ref()]);
    build.run()?;
    Ok(built.join("debug/tenured"))
}
