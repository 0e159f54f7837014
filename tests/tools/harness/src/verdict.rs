//! Programs that judge the success of a test themselves.

use std::io::Write;
use std::process::Stdio;
use std::sync::Mutex;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

/// Runs a program that exits with success if the test passed, and forwards its output immediately.
///
/// # Panics
/// If it fails, or has not ended after `deadline`, with its whole output: CI often keeps nothing but the panic message
/// of a test.
pub async fn all_is_well(mut command: Command, deadline: Duration) {
    let spawned = command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true).spawn();
    let mut child = spawned.expect("it starts");
    let told = Mutex::new(String::new());
    let all_lines = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    let end = async {
        tokio::join!(show(all_lines.0, &told), show(all_lines.1, &told));
        child.wait().await.expect("it can be waited for")
    };
    let ended = timeout(deadline, end).await;
    let told = told.lock().expect("not poisoned");
    match ended {
        Ok(status) => assert!(status.success(), "not all was well ({status}):\n{told}"),
        Err(_) => panic!("it has not ended within {deadline:?}:\n{told}"),
    }
}

/// Forwards each line past the test's output capture, and records it.
async fn show(lines: impl AsyncRead + Unpin, told: &Mutex<String>) {
    let mut lines = BufReader::new(lines).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let _ = writeln!(std::io::stdout(), "{line}");
        let mut told = told.lock().expect("not poisoned");
        told.push_str(&line);
        told.push('\n');
    }
}
