//! Chaos and failover in their short form.

use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

/// Longer than any of it takes.
const DEADLINE: Duration = Duration::from_secs(600);

/// Runs the program, and shows what it told. One that does not end is killed.
async fn all_is_well(arguments: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure-chaos"));
    let ended = timeout(DEADLINE, command.args(arguments).kill_on_drop(true).status()).await.expect("the run ends");
    assert!(ended.expect("it starts").success(), "see above for what was wrong, and where everything is");
}

#[tokio::test]
async fn chaos_on_postgres_breaks_no_promise() {
    all_is_well(&["chaos", "--minutes", "0.5", "--store", "postgres"]).await;
}

#[tokio::test]
async fn chaos_on_mariadb_breaks_no_promise() {
    all_is_well(&["chaos", "--minutes", "0.5", "--store", "mariadb"]).await;
}

#[tokio::test]
async fn failover_to_a_synchronous_standby_loses_nothing() {
    all_is_well(&["failover", "--cycles", "2"]).await;
}

#[tokio::test]
async fn failover_that_loses_commits_is_told_and_repeats_no_token() {
    all_is_well(&["failover", "--cycles", "2", "--asynchronous"]).await;
}

#[tokio::test]
async fn failover_of_a_galera_cluster_repeats_no_token() {
    all_is_well(&["failover", "--engine", "galera", "--cycles", "1"]).await;
}
