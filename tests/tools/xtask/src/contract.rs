//! Checks of the contract by buf: lint, format, and breaking changes.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};

use crate::programs::{Program, files, find, program, root};
use crate::release::pack;

/// The contract that later changes must not break, as buf's image.
const IMAGE: &str = "proto/image.binpb";

/// The installation folder of buf, from the lock file that is committed in tests/tools/xtask/buf.
const HOME: &str = "target/buf";

/// Lints the contract, checks its format, and compares it with the committed image.
pub fn check() -> anyhow::Result<()> {
    let buf = install()?;
    let run = |arguments: &[&str]| -> anyhow::Result<()> { buf(arguments).run() };
    run(&["lint", "proto"])?;
    run(&["format", "proto", "--diff", "--exit-code"]).context("run `buf format -w proto`")?;
    run(&["breaking", "proto", "--against", IMAGE])
}

/// Checks that the contract breaks no client of a release, which has its descriptors.
pub fn keeps(release: &Path) -> anyhow::Result<()> {
    let buf = install()?;
    let descriptors = files(&release.join("proto"), &["binpb"])?;
    ensure!(!descriptors.is_empty(), "{} has no descriptors of the contract", release.display());
    descriptors.iter().try_for_each(|of| buf(&["breaking", "proto", "--against", &of.display().to_string()]).run())
}

/// Writes the image.
pub fn write_image() -> anyhow::Result<()> {
    install()?(&["build", "proto", "--output", IMAGE]).run()
}

/// Packs the contract as a module of buf, and as a set of descriptors.
pub fn release(folder: &Path, into: &Path, version: &str) -> anyhow::Result<()> {
    let buf = install()?;
    let (module, descriptors) = (format!("tenure-proto-{version}.tar.gz"), format!("tenure-proto-{version}.binpb"));
    let (folder, descriptors) = (folder.display().to_string(), into.join(descriptors).display().to_string());
    buf(&["build", &folder, "--as-file-descriptor-set", "--output", &descriptors]).run()?;
    buf(&["export", &folder, "--output", &into.join("module").display().to_string()]).run()?;
    pack(&into.join("module"), &into.join(module))?;
    Ok(fs::remove_dir_all(into.join("module"))?)
}

/// Installs buf at the version of the lock file, if it is missing.
fn install() -> anyhow::Result<impl Fn(&[&str]) -> Program> {
    let Some(npm) = find("npm").filter(|_| find("node").is_some()) else {
        bail!("npm and node (20 or newer) are not installed, which install buf, the linter of the contract");
    };
    let (from, home) = (root().join("tests/tools/xtask/buf"), root().join(HOME));
    fs::create_dir_all(&home)?;
    let lock = fs::read(from.join("package-lock.json"))?;
    // Copied last, so that its presence proves a complete installation.
    let installed = home.join("installed-lock.json");
    if fs::read(&installed).is_ok_and(|of| of == lock) {
        return Ok(at(home));
    }
    for file in ["package.json", "package-lock.json", ".npmrc"] {
        fs::copy(from.join(file), home.join(file)).with_context(|| format!("copying {file}"))?;
    }
    // Not `npm ci`: that requires a lock for every platform that buf supports, of which only Linux is locked.
    program(npm).folder(&home).args(["install", "--ignore-scripts", "--no-audit", "--no-fund"]).run()?;
    fs::write(installed, lock)?;
    Ok(at(home))
}

fn at(home: PathBuf) -> impl Fn(&[&str]) -> Program {
    move |arguments| {
        let mut buf = program(home.join("node_modules/.bin/buf"));
        buf.args(arguments);
        buf
    }
}
