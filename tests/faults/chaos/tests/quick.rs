//! Chaos and failover in their short form.

use std::time::Duration;

use tenure_harness::assert_success;
use tokio::process::Command;

/// Longer than any run takes.
const DEADLINE: Duration = Duration::from_secs(600);

/// Runs the program, and kills it if it does not exit.
async fn run(arguments: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure-chaos"));
    command.args(arguments);
    assert_success(command, DEADLINE).await;
}

#[tokio::test]
async fn chaos_on_postgres_breaks_no_promise() {
    run(&["chaos", "--minutes", "0.5", "--store", "postgres"]).await;
}

#[tokio::test]
async fn chaos_on_mariadb_breaks_no_promise() {
    run(&["chaos", "--minutes", "0.5", "--store", "mariadb"]).await;
}

/// The deadline of the first grant after a failover, on a machine that is busy with other tests.
const FIRST_GRANT: [&str; 2] = ["--first-grant", "20"];

#[tokio::test]
async fn failover_to_a_synchronous_standby_loses_nothing() {
    run(&[&["failover", "--cycles", "2"], &FIRST_GRANT[..]].concat()).await;
}

#[tokio::test]
async fn failover_with_lost_commits_is_declared_and_repeats_no_token() {
    run(&[&["failover", "--cycles", "2", "--asynchronous"], &FIRST_GRANT[..]].concat()).await;
}

#[tokio::test]
async fn failover_of_a_galera_cluster_repeats_no_token() {
    run(&[&["failover", "--engine", "galera", "--cycles", "1"], &FIRST_GRANT[..]].concat()).await;
}
