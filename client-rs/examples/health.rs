//! Copies of a program whose work may hang while the process lives on and its connection is fine: the one that hangs is
//! replaced all the same, because it leads only while its work makes progress.
//!
//! `cargo run --example health -- NAME [BODIES]`, several times, with a server of `TENURE_ENDPOINTS` (default: this machine's
//! port 7420). The work hangs after so many bodies, if that is given, and another copy leads 2.2 s later at the latest.

use std::time::Duration;

use tenure_client::{Client, ClientOptions};

#[tokio::main(flavor = "current_thread")]
async fn main() -> tenure_client::Result<()> {
    let name = std::env::args().nth(1).unwrap_or_else(|| format!("replica-{}", std::process::id()));
    let hangs_after: Option<u32> = std::env::args().nth(2).and_then(|bodies| bodies.parse().ok());
    let client = Client::connect(ClientOptions::from_env())?;
    let election = client
        .election("healthy_leader")
        .ttl(Duration::from_millis(1_200))
        .owner(&name)
        // A body that takes longer hangs. One that is long may tell in the middle that it goes on: `leadership.tick()`.
        .stall_after(Duration::from_secs(1));
    println!("candidate {name}");
    let mut bodies = 0;
    let leading = election.lead_every(Duration::from_millis(250), |leadership| {
        bodies += 1;
        let hangs = hangs_after.is_some_and(|after| bodies >= after);
        async move {
            println!("work token={}", leadership.token());
            if hangs {
                println!("hanging");
                tokio::spawn(async move { println!("lost: {}", leadership.lost().await) });
                std::future::pending::<()>().await;
            }
        }
    });
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
