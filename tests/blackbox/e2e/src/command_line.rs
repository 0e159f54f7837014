//! Runs `tenure` as a process, and reads the events of its `watch`.

use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use serde_json::Value;
use tenure_harness::{built, settings, wait_until};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// The timeout of every wait.
const PATIENCE: Duration = Duration::from_secs(30);

/// The command line, for the servers of a test.
#[derive(Clone, Debug)]
pub struct CommandLine {
    program: PathBuf,
    endpoints: String,
}

impl CommandLine {
    /// Creates a command line for these servers.
    ///
    /// # Errors
    /// If `tenure` is not built.
    pub fn new(endpoints: &[String]) -> anyhow::Result<Self> {
        Ok(Self { program: built("tenure")?, endpoints: endpoints.join(",") })
    }

    /// Starts it. The process is killed when the returned child is dropped.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(&self, arguments: &[&str]) -> anyhow::Result<Child> {
        self.command(self.program.as_os_str()).args(arguments).spawn().context("starting tenure")
    }

    /// Starts a shell script in which `$TENURE` is the path of `tenure`.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start_script(&self, script: &str) -> anyhow::Result<Child> {
        let mut shell = self.command("sh".as_ref());
        shell.args(["-c", script]).env("TENURE", &self.program).spawn().context("starting a shell")
    }

    fn command(&self, program: &std::ffi::OsStr) -> Command {
        let mut command = Command::new(program);
        for name in settings() {
            command.env_remove(name);
        }
        command.env("TENURE_ENDPOINTS", &self.endpoints).env("USER", "tester");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }

    /// Runs it to its end, expects this exit code, and returns its output as JSON.
    ///
    /// # Panics
    /// If it takes too long, ends with another code or does not print JSON.
    pub async fn json(&self, code: i32, arguments: &[&str]) -> Value {
        let child = self.start(&[&["-o", "json"], arguments].concat()).expect("tenure starts");
        let output = ended(child).await;
        let text = if output.stdout.is_empty() { &output.stderr } else { &output.stdout };
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", String::from_utf8_lossy(text));
        serde_json::from_slice(text).expect("it prints JSON")
    }

    /// Waits until a lock has this many waiters.
    ///
    /// # Panics
    /// If it does not in time.
    pub async fn waiters(&self, name: &str, count: usize) {
        let count = count.to_string();
        let waiting = async || self.json(0, &["get", name]).await["lock"]["waiterCount"] == count;
        wait_until(PATIENCE, &format!("{count} wait for {name}"), waiting).await;
    }

    /// Watches a lock from now on.
    ///
    /// # Errors
    /// If it cannot be started.
    ///
    /// # Panics
    /// If it prints nothing in time.
    pub async fn watch(&self, name: &str) -> anyhow::Result<Watcher> {
        let mut child = self.start(&["-o", "json", "watch", name])?;
        let mut lines = BufReader::new(child.stdout.take().context("no output")?).lines();
        let printed: Arc<Mutex<Vec<Value>>> = Arc::default();
        let shared = Arc::clone(&printed);
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let line = serde_json::from_str(&line).unwrap_or(Value::String(line));
                shared.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
        });
        let watcher = Watcher { printed, _child: child };
        wait_until(PATIENCE, "the watch begins", async || !watcher.printed().is_empty()).await;
        Ok(watcher)
    }
}

/// Waits for a child to exit.
///
/// # Panics
/// If it does not in time.
async fn ended(child: Child) -> Output {
    timeout(PATIENCE, child.wait_with_output()).await.expect("it does not end in time").expect("it can be waited for")
}

/// A `tenure watch`, and its output.
#[derive(Debug)]
pub struct Watcher {
    printed: Arc<Mutex<Vec<Value>>>,
    _child: Child,
}

impl Watcher {
    fn printed(&self) -> Vec<Value> {
        self.printed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The events so far.
    #[must_use]
    pub fn events(&self) -> Vec<Value> {
        let printed = self.printed();
        printed.iter().filter_map(|line| line["events"]["events"].as_array()).flatten().cloned().collect()
    }

    /// The events of this type so far.
    #[must_use]
    pub fn of_type(&self, kind: &str) -> Vec<Value> {
        self.events().into_iter().filter(|event| event["type"] == format!("EVENT_TYPE_{kind}")).collect()
    }

    /// Waits until this many events of a type have arrived, and returns them.
    ///
    /// # Panics
    /// If they do not arrive in time.
    pub async fn wait_for(&self, count: usize, kind: &str) -> Vec<Value> {
        let arrived = async || self.of_type(kind).len() >= count;
        wait_until(PATIENCE, &format!("{count} events {kind}"), arrived).await;
        self.of_type(kind)
    }
}
