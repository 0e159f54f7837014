//! Instances of a program whose work may hang while the process and its connection stay alive. An instance leads only
//! while its work makes progress, so one that hangs is replaced.
//!
//! `cargo run --example health -- NAME [BODIES]`, several times, with a server at `TENURE_ENDPOINTS` (default: port
//! 7420 of this machine). The work hangs after BODIES bodies, if given, and another instance leads at most 2.2 s later.

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
        // A body that takes longer counts as hung. A long body can report progress with `leadership.tick()`.
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
