//! Instances of a program of which only the leader works: once a second, while it leads.
//!
//! `cargo run --example leader_loop -- NAME`, several times, with a server at `TENURE_ENDPOINTS` (default: port 7420 of
//! this machine). Kill the leader, and another instance takes over.

use std::time::Duration;

use tenure_client::{Client, ClientOptions};

#[tokio::main(flavor = "current_thread")]
async fn main() -> tenure_client::Result<()> {
    let name = std::env::args().nth(1).unwrap_or_else(|| format!("replica-{}", std::process::id()));
    let client = Client::connect(ClientOptions::from_env())?;
    // snippet: leader_loop
    let election = client.election("service_leader").ttl(Duration::from_millis(1_200)).owner(&name);
    println!("candidate {name}");
    let leading = election.lead_every(Duration::from_secs(1), async |leadership| {
        println!("work token={}", leadership.token());
    });
    // snippet end
    tokio::select! {
        ended = leading => match ended {
            Ok(never) => match never {},
            Err(error) => Err(error),
        },
        _ = tokio::signal::ctrl_c() => {
            println!("stopping");
            client.close().await
        }
    }
}
