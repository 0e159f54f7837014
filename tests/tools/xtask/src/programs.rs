//! Running other programs, and finding them.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

/// The top folder of the tree.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(3).unwrap_or(manifest).to_path_buf()
}

/// A program to run at the top of the tree.
pub struct Program(Command);

/// cargo, at the top of the tree.
pub fn cargo(arguments: &[&str]) -> Program {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut program = program(cargo);
    program.args(arguments);
    program
}

/// Any program.
pub fn program(program: impl AsRef<OsStr>) -> Program {
    let mut command = Command::new(program);
    command.current_dir(root());
    Program(command)
}

impl Program {
    /// Adds arguments.
    pub fn args<A: AsRef<OsStr>>(&mut self, arguments: impl IntoIterator<Item = A>) -> &mut Self {
        self.0.args(arguments);
        self
    }

    /// Sets an environment variable.
    pub fn env(&mut self, name: &str, value: &str) -> &mut Self {
        self.0.env(name, value);
        self
    }

    /// Sets its working directory.
    pub fn folder(&mut self, folder: &Path) -> &mut Self {
        self.0.current_dir(folder);
        self
    }

    /// Runs it to its end, which must be successful, and returns its output.
    pub fn output(&mut self) -> anyhow::Result<String> {
        let output = self.0.stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            bail!("it ended with {}", output.status);
        }
        String::from_utf8(output.stdout).context("it says what is no text")
    }

    /// Runs it to its end, which must be successful.
    pub fn run(&mut self) -> anyhow::Result<()> {
        let name = Path::new(self.0.get_program()).file_name().unwrap_or_default().display().to_string();
        let first: Vec<String> = self.0.get_args().take(2).map(|argument| argument.display().to_string()).collect();
        let status = self.0.status().with_context(|| format!("starting {name}"))?;
        if !status.success() {
            bail!("{name} {} ended with {status}", first.join(" "));
        }
        Ok(())
    }
}

/// The files in a folder and below with one of these extensions, in order; none if there is no such folder.
pub fn files(folder: &Path, extensions: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if folder.is_dir() {
        for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                found.extend(files(&path, extensions)?);
            } else if path.extension().is_some_and(|extension| extensions.iter().any(|wanted| extension == *wanted)) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Finds a program in PATH and in the places where programs are installed outside of PATH.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/local/go/bin"].map(PathBuf::from));
    for version in fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten() {
        folders.push(version.path().join("bin"));
    }
    folders.into_iter().map(|folder| folder.join(name)).find(|program| program.is_file())
}
