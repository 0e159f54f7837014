//! A real server, and `tenure` as a process.

#![allow(dead_code, reason = "each test program uses a part of it")]

pub mod terminal;

use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tenure_harness::{Tenured, TenuredOptions, settings, wait_until};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// Exceeds the duration of any step here on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

pub async fn server() -> Tenured {
    Tenured::start(&TenuredOptions::default()).await.unwrap()
}

pub fn tenure(url: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    for name in settings() {
        command.env_remove(name);
    }
    command.args(arguments).env("TENURE_ENDPOINTS", url).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub async fn run(server: &Tenured, arguments: &[&str]) -> Output {
    ended(tenure(&server.url(), arguments).spawn().unwrap()).await
}

pub async fn ended(child: Child) -> Output {
    timeout(PATIENCE, child.wait_with_output()).await.expect("it hangs").unwrap()
}

/// Runs the command, asserts its exit code, and returns its output as JSON.
pub async fn json(server: &Tenured, code: i32, arguments: &[&str]) -> Value {
    let output = run(server, &[&["-o", "json"], arguments].concat()).await;
    let text = if output.stdout.is_empty() { &output.stderr } else { &output.stdout };
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", String::from_utf8_lossy(text));
    serde_json::from_slice(text).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()).unwrap(), signal).unwrap();
}

pub async fn appears(path: &Path) {
    wait_until(PATIENCE, &format!("{} appears", path.display()), async || path.exists()).await;
}

pub async fn waiters(server: &Tenured, name: &str, count: &str) {
    let what = format!("{count} wait for {name}");
    wait_until(PATIENCE, &what, async || json(server, 0, &["get", name]).await["lock"]["waiterCount"] == count).await;
}
