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

/// The time within which an endless program must print something, in seconds.
const FIRST_OUTPUT: u32 = 20;

/// Substitutes for programs of the reader: one just exits, the other divides its input.
const READER_PROGRAM: &str = r#"#!/bin/sh
echo "$0 works"
"#;
const DIVIDER: &str = r#"#!/bin/sh
grep -o '"number":"[0-9]*"' | tr -dc '0-9\n' | sed 's/$/ 500/'
"#;

/// The result of a run.
#[derive(Debug)]
pub struct RunOutput {
    /// Its output.
    pub text: String,
    /// Whether all commands succeeded.
    pub succeeded: bool,
}

/// The environment.
#[derive(Debug)]
pub struct Sandbox {
    folder: TempDir,
    server: Tenured,
    /// The leader and the standby, where leadership is handed over.
    others: Vec<Child>,
}

impl Sandbox {
    /// Prepares the environment for a snippet.
    ///
    /// # Errors
    /// If a program or a database that it needs is not available.
    pub async fn prepare(fence: &Fence) -> anyhow::Result<Self> {
        let server = Tenured::start(&TenuredOptions::default()).await?;
        let folder = tempfile::tempdir()?;
        let mut sandbox = Self { folder, server, others: Vec::new() };
        fs::create_dir_all(sandbox.folder.path().join("bin"))?;
        sandbox.provide_programs()?;
        for name in reader_programs(&fence.text) {
            let divides = fence.text.contains(&format!("--assign ./{name}"));
            sandbox.write(&sandbox.folder.path().join(&name), if divides { DIVIDER } else { READER_PROGRAM })?;
        }
        if fence.has_word("tenured") {
            sandbox.prepare_data().await?;
        }
        for name in transferred_locks(fence) {
            sandbox.start_leader(&name).await?;
        }
        Ok(sandbox)
    }

    /// Runs the snippet as written: all of it in one shell, which exits at the first command that fails.
    ///
    /// # Errors
    /// If it cannot be run, or does not end.
    pub async fn run(&self, fence: &Fence) -> anyhow::Result<RunOutput> {
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
            bail!("the snippet does not end within {} s", PATIENCE.as_secs());
        };
        let output = output?;
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        Ok(RunOutput { text, succeeded: output.status.success() })
    }

    /// Provides the programs of this workspace, and wrappers of programs that would connect to the default address.
    fn provide_programs(&self) -> anyhow::Result<()> {
        let (tenure, tenured) = (built("tenure")?, built("tenured")?);
        self.provide("tenure", &client_wrapper(&tenure))?;
        self.provide("tenured", &server_wrapper(&tenured))?;
        let (clients, operators) = (self.server.port(), self.server.admin_port());
        for name in ["grpcurl", "curl"] {
            if let Some(program) = in_path(name) {
                self.provide(name, &redirecting_wrapper(&program, clients, operators))?;
            }
        }
        // Snippets sleep only so that a reader can look at their effects.
        self.provide("sleep", "exit 0\n")
    }

    fn provide(&self, name: &str, script: &str) -> anyhow::Result<()> {
        let script = format!("#!/usr/bin/env bash\nset -u\n{}{script}", run_endless());
        self.write(&self.folder.path().join("bin").join(name), &script)
    }

    fn write(&self, path: &Path, script: &str) -> anyhow::Result<()> {
        fs::write(path, script).with_context(|| format!("writing {}", path.display()))?;
        Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
    }

    /// Creates the data that an earlier server would leave.
    async fn prepare_data(&self) -> anyhow::Result<()> {
        let data = self.data();
        fs::create_dir_all(&data)?;
        let mut command = Command::new(built("tenured")?);
        for name in settings() {
            command.env_remove(name);
        }
        let output = command.arg("migrate").env("TENURE_DATA_DIR", data).output().await?;
        ensure!(output.status.success(), "preparing data failed: {}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Starts a leader and a standby.
    async fn start_leader(&mut self, name: &str) -> anyhow::Result<()> {
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
fn reader_programs(text: &str) -> Vec<String> {
    let words = text.split(|char: char| char.is_whitespace() || "'\"();".contains(char));
    let mut names: Vec<String> = words.filter_map(|word| word.strip_prefix("./")).map(str::to_owned).collect();
    names.retain(|name| !name.is_empty() && !name.contains('/'));
    names.sort();
    names.dedup();
    names
}

/// The locks that the snippet hands over.
fn transferred_locks(fence: &Fence) -> Vec<String> {
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

/// A shell function that runs an endless command until it has printed a line on standard output (or anywhere), and
/// then ends it.
fn run_endless() -> String {
    format!(
        r#"run_endless() {{
    local pid line source=$1
    shift
    if [ "$source" = output ]; then
        exec 3< <(exec "$@")
    else
        exec 3< <(exec "$@" 2>&1)
    fi
    pid=$!
    if ! IFS= read -r -t {FIRST_OUTPUT} line <&3; then
        echo "no output: $*" >&2
        kill -9 "$pid"
        exit 1
    fi
    printf '%s\n(still running)\n' "$line"
    kill "$pid"
    wait "$pid"
    exit 0
}}
"#
    )
}

/// A wrapper of a client program, some of whose commands never end.
fn client_wrapper(program: &Path) -> String {
    let program = program.display();
    format!(
        r#"for word in "$@"; do
    case "$word" in
        --) break ;;
        watch | join) run_endless output {program} "$@" ;;
        elect) run_endless anywhere {program} "$@" ;;
    esac
done
exec {program} "$@"
"#
    )
}

/// A wrapper of the server, which never ends unless it has another task.
fn server_wrapper(program: &Path) -> String {
    let program = program.display();
    format!(
        r#"case "${{1---}}" in
    -* | serve) run_endless anywhere {program} "$@" ;;
    *) exec {program} "$@" ;;
esac
"#
    )
}

/// A wrapper that redirects the default address to the server of the sandbox. A call that watches never ends.
fn redirecting_wrapper(program: &Path, clients: u16, operators: u16) -> String {
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
    */Watch) run_endless output {program} "${{words[@]}}" ;;
    *) exec {program} "${{words[@]}}" ;;
esac
"#
    )
}
