//! A job that starts on several hosts at once: one runs it, the others print the holder.
//!
//! `cargo run --example try_lock -- HOST`, with a server at `TENURE_ENDPOINTS` (default: port 7420 of this machine).

use std::time::Duration;

use tenure_client::{Attempt, Client, ClientOptions};

#[tokio::main(flavor = "current_thread")]
async fn main() -> tenure_client::Result<()> {
    let host = std::env::args().nth(1).unwrap_or_else(|| "host".to_owned());
    let client = Client::connect(ClientOptions::from_env())?;
    // The hosts' clocks may differ by some seconds, and the job is shorter than that.
    let job = client.lock("hourly-job").owner(host).min_hold(Duration::from_secs(5));
    match job.try_run(async |hold| println!("running token={}", hold.token())).await? {
        Attempt::Acquired(()) => println!("done"),
        Attempt::Busy(busy) => {
            let holder = busy.holder.map_or_else(|| "unknown".to_owned(), |holder| holder.owner);
            println!("busy holder={holder}");
        }
    }
    client.close().await
}
