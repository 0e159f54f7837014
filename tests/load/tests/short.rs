//! Overload and soak in their short form.

use std::process::Command;
use std::time::Duration;

use tenure_harness::wait_until;

/// Longer than any of it takes.
const DEADLINE: Duration = Duration::from_secs(240);

/// Runs the program, and shows what it told.
async fn all_is_well(arguments: &[&str]) {
    let mut run = Command::new(env!("CARGO_BIN_EXE_tenure-load")).args(arguments).spawn().expect("it starts");
    let mut ended = None;
    wait_until(DEADLINE, "the run ends", async || {
        ended = run.try_wait().expect("it can be waited for");
        ended.is_some()
    })
    .await;
    assert!(ended.is_some_and(|status| status.success()), "see above for what was wrong");
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
