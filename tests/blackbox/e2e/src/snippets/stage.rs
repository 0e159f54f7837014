//! The environment of one snippet: a fresh server, its own folder, and substitute programs in its PATH.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use tempfile::TempDir;
use tenure_harness::{Postgres, Tenured, TenuredOptions, built, settings, wait_until};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::Fence;

/// The timeout of a snippet.
const PATIENCE: Duration = Duration::from_secs(60);

/// The time within which a program that runs for ever must print something, in seconds.
const FIRST_WORD: u32 = 20;

/// Substitutes for programs that the reader would have: one just exits, the other divides its input.
const OF_THE_READER: &str = r#"#!/bin/sh
echo "$0 works"
"#;
const DIVIDES: &str = r#"#!/bin/sh
grep -o '"number":"[0-9]*"' | tr -dc '0-9\n' | sed 's/$/ 500/'
"#;

/// The result of a run.
#[derive(Debug)]
pub struct Ran {
    /// Its output.
    pub said: String,
    /// Whether all of it succeeded.
    pub is_well: bool,
}

/// The environment.
#[derive(Debug)]
pub struct Stage {
    folder: TempDir,
    server: Tenured,
    /// The leader and the standby, where leadership is handed over.
    others: Vec<Child>,
}

impl Stage {
    /// Prepares the environment for a snippet.
    ///
    /// # Errors
    /// If a program or a database that it needs is not available.
    pub async fn set(fence: &Fence) -> anyhow::Result<Self> {
        let server = Tenured::start(&TenuredOptions::default()).await?;
        let folder = tempfile::tempdir()?;
        let mut stage = Self { folder, server, others: Vec::new() };
        fs::create_dir_all(stage.folder.path().join("bin"))?;
        stage.provide_programs()?;
        for name in programs_of_the_reader(&fence.text) {
            let divides = fence.text.contains(&format!("--assign ./{name}"));
            stage.write(&stage.folder.path().join(&name), if divides { DIVIDES } else { OF_THE_READER })?;
        }
        if fence.has_word("tenured") {
            stage.leave_data().await?;
        }
        for name in handed_over(fence) {
            stage.have_it_led(&name).await?;
        }
        Ok(stage)
    }

    /// Runs the snippet as written: all of it in one shell, which exits at the first command that fails.
    ///
    /// # Errors
    /// If it cannot be run, or does not end.
    pub async fn run(&self, fence: &Fence) -> anyhow::Result<Ran> {
        let mut command = Command::new("bash");
        command.args(["-eu", "-o", "pipefail", "-c", &fence.text]).current_dir(self.folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true).process_group(0);
        for name in settings() {
            command.env_remove(name);
        }
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.folder.path().join("bin").display()));
        command.env("TENURE_ENDPOINTS", self.server.url()).env("HOME", self.folder.path());
        command.env("TENURE_LISTEN", "127.0.0.1:0").env("TENURE_ADMIN_LISTEN", "127.0.0.1:0");
        command.env("TENURE_DATA_DIR", self.data());
        for variable in ["DATABASE_URL", "STORE_URL"] {
            if fence.text.contains(&format!("${variable}")) {
                command.env(variable, Postgres::shared().await?.create_database().await?);
            }
        }
        let child = command.spawn().context("starting bash")?;
        let Ok(output) = timeout(PATIENCE, child.wait_with_output()).await else {
            bail!("it does not end within {} s", PATIENCE.as_secs());
        };
        let output = output?;
        let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
        said.push_str(&String::from_utf8_lossy(&output.stderr));
        Ok(Ran { said, is_well: output.status.success() })
    }

    /// Provides the programs of this workspace, and wrappers of programs that would connect to the default address.
    fn provide_programs(&self) -> anyhow::Result<()> {
        let (tenure, tenured) = (built("tenure")?, built("tenured")?);
        self.provide("tenure", &for_ever(&tenure))?;
        self.provide("tenured", &server(&tenured))?;
        let (clients, operators) = (self.server.port(), self.server.admin_port());
        for name in ["grpcurl", "curl"] {
            if let Some(program) = in_path(name) {
                self.provide(name, &elsewhere(&program, clients, operators))?;
            }
        }
        // Snippets sleep only to let a reader look at something.
        self.provide("sleep", "exit 0\n")
    }

    fn provide(&self, name: &str, script: &str) -> anyhow::Result<()> {
        let script = format!("#!/usr/bin/env bash\nset -u\n{}{script}", goes_on());
        self.write(&self.folder.path().join("bin").join(name), &script)
    }

    fn write(&self, path: &Path, script: &str) -> anyhow::Result<()> {
        fs::write(path, script).with_context(|| format!("writing {}", path.display()))?;
        Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
    }

    /// Leaves data behind, as an earlier server would.
    async fn leave_data(&self) -> anyhow::Result<()> {
        let data = self.data();
        fs::create_dir_all(&data)?;
        let mut command = Command::new(built("tenured")?);
        for name in settings() {
            command.env_remove(name);
        }
        let output = command.arg("migrate").env("TENURE_DATA_DIR", data).output().await?;
        ensure!(output.status.success(), "no data: {}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Starts a leader and a standby.
    async fn have_it_led(&mut self, name: &str) -> anyhow::Result<()> {
        let tenure = built("tenure")?;
        let client = tenure_client::Client::connect(self.server.url().as_str())?;
        for waiting in [0, 1] {
            let mut command = Command::new(&tenure);
            command.args(["elect", "--quiet", name, "--", "sleep", "1000"]).env("TENURE_ENDPOINTS", self.server.url());
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
            self.others.push(command.spawn()?);
            wait_until(PATIENCE, &format!("{name} is led"), async || {
                let lock = client.get_lock(name).await;
                lock.is_ok_and(|lock| lock.holder_count == 1 && lock.waiter_count == waiting)
            })
            .await;
        }
        Ok(client.close().await?)
    }
}

/// Finds words such as `./report.sh`.
fn programs_of_the_reader(text: &str) -> Vec<String> {
    let words = text.split(|char: char| char.is_whitespace() || "'\"();".contains(char));
    let mut names: Vec<String> = words.filter_map(|word| word.strip_prefix("./")).map(str::to_owned).collect();
    names.retain(|name| !name.is_empty() && !name.contains('/'));
    names.sort();
    names.dedup();
    names
}

/// The locks that the snippet hands over.
fn handed_over(fence: &Fence) -> Vec<String> {
    let after = |command: String| {
        let mut words = command.split_whitespace().map(str::to_owned).skip_while(|word| word != "transfer");
        words.next().and(words.next())
    };
    fence.commands().filter(|command| command.starts_with("tenure ")).filter_map(after).collect()
}

fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// A shell function that runs an endless command until it has printed something on standard output (or anywhere), and
/// ends it then.
fn goes_on() -> String {
    format!(
        r#"goes_on() {{
    local pid line where=$1
    shift
    if [ "$where" = output ]; then
        exec 3< <(exec "$@")
    else
        exec 3< <(exec "$@" 2>&1)
    fi
    pid=$!
    if ! IFS= read -r -t {FIRST_WORD} line <&3; then
        echo "this says nothing: $*" >&2
        kill -9 "$pid"
        exit 1
    fi
    printf '%s\n(goes on)\n' "$line"
    kill "$pid"
    wait "$pid"
    exit 0
}}
"#
    )
}

/// A wrapper of a program some of whose commands run for ever.
fn for_ever(program: &Path) -> String {
    let program = program.display();
    format!(
        r#"for word in "$@"; do
    case "$word" in
        --) break ;;
        watch | join) goes_on output {program} "$@" ;;
        elect) goes_on anywhere {program} "$@" ;;
    esac
done
exec {program} "$@"
"#
    )
}

/// A wrapper of the server, which runs for ever unless it is given another task.
fn server(program: &Path) -> String {
    let program = program.display();
    format!(
        r#"case "${{1---}}" in
    -* | serve) goes_on anywhere {program} "$@" ;;
    *) exec {program} "$@" ;;
esac
"#
    )
}

/// A wrapper that redirects the default address to the server of the stage. A call that watches runs for ever.
fn elsewhere(program: &Path, clients: u16, operators: u16) -> String {
    let program = program.display();
    format!(
        r#"words=()
for word in "$@"; do
    word=${{word//localhost:7420/127.0.0.1:{clients}}}
    word=${{word//127.0.0.1:7420/127.0.0.1:{clients}}}
    word=${{word//localhost:7421/127.0.0.1:{operators}}}
    words+=("${{word//127.0.0.1:7421/127.0.0.1:{operators}}}")
done
case "$*" in
    */Watch) goes_on output {program} "${{words[@]}}" ;;
    *) exec {program} "${{words[@]}}" ;;
esac
"#
    )
}
