//! A job that starts on several hosts at once: one runs, the others are told who does.
//!
//! `cargo run --example try_lock -- HOST`, with a server of `TENURE_ENDPOINTS` (default: this machine's port 7420).

use std::time::Duration;

use tenure_client::{Client, ClientOptions, Ran};

#[tokio::main(flavor = "current_thread")]
async fn main() -> tenure_client::Result<()> {
    let host = std::env::args().nth(1).unwrap_or_else(|| "host".to_owned());
    let client = Client::connect(ClientOptions::from_env())?;
    // The hosts' clocks may differ by some seconds, and the job is shorter than that.
    let job = client.lock("hourly-job").owner(host).min_hold(Duration::from_secs(5));
    match job.try_run(async |hold| println!("running token={}", hold.token())).await? {
        Ran::Done(()) => println!("done"),
        Ran::Busy(busy) => {
            let holder = busy.holder.map_or_else(|| "somebody".to_owned(), |holder| holder.owner);
            println!("busy holder={holder}");
        }
    }
    client.close().await
}
