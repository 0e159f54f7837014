//! Programs that judge by themselves whether all was well.

use std::io::Write;
use std::process::Stdio;
use std::sync::Mutex;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

/// Runs a program that ends with success if all was well, and shows what it tells as it tells it.
///
/// # Panics
/// If it does not say so, or has not ended after `deadline`, with all that it told: where tests are run by machines, often
/// nothing but a test's own complaint is kept.
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

/// Shows each line past what keeps a test's output until its end, and notes it.
async fn show(lines: impl AsyncRead + Unpin, told: &Mutex<String>) {
    let mut lines = BufReader::new(lines).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let _ = writeln!(std::io::stdout(), "{line}");
        let mut told = told.lock().expect("not poisoned");
        told.push_str(&line);
        told.push('\n');
    }
}
