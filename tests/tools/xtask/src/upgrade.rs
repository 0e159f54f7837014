//! An earlier version of the server, tested beside this one.

use std::env::consts::ARCH;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use crate::apart::Apart;
use crate::contract;
use crate::programs::{self, cargo, program, root};

/// Which version to come from.
#[derive(Args)]
pub struct Upgrade {
    /// A commit, as git knows it, or the programs of a release: its folder or its `tenure-*.tar.gz`.
    #[arg(long, value_name = "COMMIT|RELEASE")]
    from: String,
}

/// The folder of the builds of earlier versions, relative to the root: their files, and cargo's output.
const FILES: &str = "target/upgrade/files";
const BUILT: &str = "target/upgrade/target";

/// Replaces servers of the earlier version by this one, and back, under load.
pub fn run(upgrade: &Upgrade) -> anyhow::Result<()> {
    let path = Path::new(&upgrade.from);
    let older = if path.exists() { unpack(path)? } else { build(&upgrade.from)? };
    let older = older.to_str().context("the path of the repository is not UTF-8")?;
    Apart::build("tests/blackbox/e2e")?.run(&["upgrade::"], &[("TENURE_UPGRADE_FROM", older)])
}

/// The server of a release. With the whole folder, its checksums and its contract are checked as well.
fn unpack(release: &Path) -> anyhow::Result<PathBuf> {
    let archive = if release.is_dir() {
        let release = release.canonicalize()?;
        program("sha256sum").folder(&release).args(["--check", "--quiet", "--strict", "SHA256SUMS"]).run()?;
        contract::keeps(&release)?;
        let archives = programs::files(&release.join("programs"), &["gz"])?;
        let is_for_here =
            |archive: &PathBuf| archive.file_name().is_some_and(|name| name.to_string_lossy().contains(ARCH));
        let archive = archives.into_iter().find(is_for_here);
        archive.with_context(|| format!("{} has no programs for {ARCH}", release.display()))?
    } else {
        release.to_path_buf()
    };
    let into = fresh()?;
    let archive = archive.canonicalize()?;
    program("tar").args(["--strip-components=1", "-xzf"]).args([&archive]).args(["-C"]).args([&into]).run()?;
    Ok(into.join("bin/tenured"))
}

/// A new folder for the files of an earlier version.
fn fresh() -> anyhow::Result<PathBuf> {
    let files = root().join(FILES);
    if files.exists() {
        fs::remove_dir_all(&files)?;
    }
    fs::create_dir_all(&files)?;
    Ok(files)
}

fn build(commit: &str) -> anyhow::Result<PathBuf> {
    let (files, built) = (fresh()?, root().join(BUILT));
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
