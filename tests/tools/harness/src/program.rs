//! Locations of programs, and the accounts that run them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// Finds a program in PATH and in the folders where Debian installs programs outside of PATH.
///
/// # Errors
/// If it is missing; names the Debian `package` with it.
pub fn find(name: &str, package: &str) -> anyhow::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/sbin", "/sbin", "/usr/local/sbin"].map(PathBuf::from));
    folders.extend(postgres_folders());
    folders.into_iter().map(|folder| folder.join(name)).find(|program| program.is_file()).with_context(|| {
        format!("{name} is not installed (Debian: apt-get install {package}; `cargo xtask test` does it where it may)")
    })
}

/// `/usr/lib/postgresql/<version>/bin`, the newest first.
fn postgres_folders() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir("/usr/lib/postgresql") else { return Vec::new() };
    let mut versions: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    versions.sort_by_key(|folder| {
        let version = folder.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse::<u32>().ok());
        std::cmp::Reverse(version)
    });
    versions.into_iter().map(|folder| folder.join("bin")).collect()
}

/// A user of this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct User {
    pub(crate) id: u32,
    pub(crate) group: u32,
}

/// The user that runs a database, since databases refuse to run as root: None if this process is not root's.
pub(crate) fn user_if_root(name: &str) -> anyhow::Result<Option<User>> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let accounts = fs::read_to_string("/etc/passwd").context("reading /etc/passwd")?;
    for line in accounts.lines() {
        let fields: Vec<&str> = line.split(':').collect();
        if let [account, _, id, group, ..] = fields[..]
            && account == name
        {
            return Ok(Some(User { id: id.parse()?, group: group.parse()? }));
        }
    }
    bail!("there is no user {name}, which is part of the database's Debian package");
}

/// A program of this workspace: the value of `TENURED_BIN` for `tenured` (`TENURE_BIN` for `tenure`), or else cargo's
/// build beside this test.
///
/// # Errors
/// If it is not built.
pub fn built(name: &str) -> anyhow::Result<PathBuf> {
    let variable = format!("{}_BIN", name.to_uppercase());
    if let Some(program) = std::env::var_os(&variable) {
        return Ok(PathBuf::from(program));
    }
    let test = std::env::current_exe().context("finding the path of this test")?;
    // target/debug/deps/test-0123 or target/debug/program.
    let mut beside = test.ancestors().skip(1).take(2).map(|folder: &Path| folder.join(name));
    beside
        .find(|program| program.is_file())
        .with_context(|| format!("{name} is not built: run `cargo build --workspace --bins`, or set {variable}"))
}
