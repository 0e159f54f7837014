//! The clients of all languages, from `clients.toml`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde::Deserialize;
use tokio::process::Command;

/// One language's client.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientSpec {
    /// Its name, which scenarios use in `skip`.
    pub name: String,
    /// The working directory of its commands, relative to the repository's root. The client is omitted if it does not
    /// exist.
    pub folder: PathBuf,
    /// The command that builds its driver.
    pub build: Vec<String>,
    /// The command that runs its driver.
    pub run: Vec<String>,
    /// Whether it runs only the scenarios whose requests its driver lists in `hello`. All other clients run every
    /// scenario, so that a library with a missing feature fails.
    #[serde(default)]
    pub partial: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    client: Vec<ClientSpec>,
}

impl ClientSpec {
    /// Reads the file, and omits clients whose folder does not exist. Paths are relative to `root`, unless they are
    /// absolute.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn load_all(file: &Path, root: &Path) -> anyhow::Result<Vec<Self>> {
        let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
        let table: Table = toml::from_str(&text).with_context(|| file.display().to_string())?;
        let rooted = table.client.into_iter().map(|client| Self { folder: root.join(&client.folder), ..client });
        Ok(rooted.filter(|client| client.folder.is_dir()).collect())
    }

    /// Builds its driver.
    ///
    /// # Errors
    /// If that fails; with the output.
    pub async fn build(&self) -> anyhow::Result<()> {
        if self.build.is_empty() {
            return Ok(());
        }
        let output = self.command(&self.build)?.output().await.with_context(|| format!("building {}", self.name))?;
        let output_text = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "building {} failed ({}):\n{output_text}", self.name, output.status);
        Ok(())
    }

    /// The command that runs its driver.
    ///
    /// # Errors
    /// If there is no command.
    pub fn driver(&self) -> anyhow::Result<Command> {
        self.command(&self.run)
    }

    fn command(&self, words: &[String]) -> anyhow::Result<Command> {
        let (program, arguments) =
            words.split_first().with_context(|| format!("{} has an empty command", self.name))?;
        // A path is relative to its folder, a bare name is searched in PATH.
        let program = if program.contains('/') { self.folder.join(program) } else { program.into() };
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.folder);
        Ok(command)
    }
}
