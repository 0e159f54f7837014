//! Overload and soak in their short form.

use std::time::Duration;

use tenure_harness::assert_success;
use tokio::process::Command;

/// The deadline of a run.
const DEADLINE: Duration = Duration::from_secs(600);

/// Runs the program, and kills it if it does not exit.
async fn run(arguments: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure-load"));
    command.args(arguments);
    assert_success(command, DEADLINE).await;
}

#[tokio::test]
async fn overload_does_not_affect_lock_holders() {
    // The TTL is long enough to be renewed in time by a debug build beside other programs, and shorter than the run.
    run(&["overload", "--seconds", "14", "--ttl", "10", "--store", "sqlite"]).await;
}

#[tokio::test]
async fn mixed_workload_does_not_grow_resource_usage() {
    run(&["soak", "--minutes", "0.4", "--store", "postgres"]).await;
}
