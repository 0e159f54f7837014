//! Overload and soak in their short form.

use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

/// Longer than any of it takes.
const DEADLINE: Duration = Duration::from_secs(600);

/// Runs the program, and shows what it told. One that does not end is killed.
async fn all_is_well(arguments: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure-load"));
    let ended = timeout(DEADLINE, command.args(arguments).kill_on_drop(true).status()).await.expect("the run ends");
    assert!(ended.expect("it starts").success(), "see above for what was wrong");
}

#[tokio::test]
async fn who_holds_a_lock_does_not_notice_an_overload() {
    // A TTL that also a server which is not built for speed, beside other programs, can renew in time; less than it lasts.
    all_is_well(&["overload", "--seconds", "14", "--ttl", "10", "--store", "sqlite"]).await;
}

#[tokio::test]
async fn servers_that_do_a_bit_of_everything_stay_as_they_are() {
    all_is_well(&["soak", "--minutes", "0.4", "--store", "postgres"]).await;
}
