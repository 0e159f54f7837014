//! Programs that are unpacked in this tree, and not installed.

use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

/// A folder in `target/tools`, with packages and all that they depend on.
#[derive(Clone, Copy, Debug)]
pub struct Unpacked(pub &'static str);

impl Unpacked {
    /// The path of something in it.
    #[must_use]
    pub fn path(self, inner: &str) -> PathBuf {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        manifest.ancestors().nth(3).unwrap_or(manifest).join("target/tools").join(self.0).join(inner)
    }

    /// A program, which the folder's own loader runs with the folder's libraries.
    ///
    /// # Errors
    /// If it is not there.
    pub fn command(self, name: &str) -> anyhow::Result<Command> {
        self.command_with(name, None)
    }

    /// A program that also has libraries in another folder.
    pub(crate) fn command_with(self, name: &str, other: Option<&str>) -> anyhow::Result<Command> {
        let libraries = self.path(&format!("usr/lib/{ARCH}-linux-gnu"));
        let mut files = fs::read_dir(&libraries).into_iter().flatten().flatten();
        let loader = files.find(|file| file.file_name().to_string_lossy().starts_with("ld-linux-"));
        let loader = loader.with_context(|| {
            format!("{} is not unpacked: `cargo xtask test --only packages` and `cargo xtask bench` do that", self.0)
        })?;
        let mut programs = ["usr/sbin", "usr/bin"].map(|place| self.path(place).join(name)).into_iter();
        let program = programs.find(|program| program.is_file());
        let mut command = Command::new(loader.path());
        let others = other.map(|folder| self.path(folder));
        command.arg("--library-path").arg(std::env::join_paths([libraries].into_iter().chain(others))?);
        command.arg(program.with_context(|| format!("there is no {name} in {}", self.0))?);
        Ok(command)
    }
}
