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
pub async fn assert_success(mut command: Command, deadline: Duration) {
    let spawned = command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true).spawn();
    let mut child = spawned.expect("a program that starts");
    let output = Mutex::new(String::new());
    let pipes = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    let end = async {
        tokio::join!(forward(pipes.0, &output), forward(pipes.1, &output));
        child.wait().await.expect("an exit status")
    };
    let ended = timeout(deadline, end).await;
    let output = output.lock().expect("not poisoned");
    match ended {
        Ok(status) => assert!(status.success(), "the program failed ({status}):\n{output}"),
        Err(_) => panic!("the program has not ended within {deadline:?}:\n{output}"),
    }
}

/// Forwards each line past the test's output capture, and records it.
async fn forward(lines: impl AsyncRead + Unpin, output: &Mutex<String>) {
    let mut lines = BufReader::new(lines).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let _ = writeln!(std::io::stdout(), "{line}");
        let mut output = output.lock().expect("not poisoned");
        output.push_str(&line);
        output.push('\n');
    }
}
