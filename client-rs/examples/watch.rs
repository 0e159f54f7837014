//! Prints the holders of locks as they change.
//!
//! `cargo run --example watch -- PREFIX`, with a server at `TENURE_ENDPOINTS` (default: port 7420 of this machine).

use tenure_client::v1::{EndReason, WatchRequest, watch_response::Kind};
use tenure_client::{Client, ClientOptions};

#[tokio::main(flavor = "current_thread")]
async fn main() -> tenure_client::Result<()> {
    let prefix = std::env::args().nth(1).unwrap_or_default();
    let client = Client::connect(ClientOptions::from_env())?;
    let mut watch = client.watch(WatchRequest { prefixes: vec![prefix], ..Default::default() });
    while let Some(response) = watch.next().await {
        let response = response?;
        match response.kind {
            Some(Kind::Snapshot(snapshot)) => {
                println!("snapshot revision={}", response.revision);
                for lock in snapshot.locks {
                    let holder = lock.holder().map_or("none", |claim| claim.owner.as_str());
                    println!("lock name={} holder={holder} waiters={}", lock.name, lock.waiter_count);
                }
            }
            Some(Kind::Events(batch)) => {
                for event in batch.events {
                    let (kind, reason) = (event.r#type().word(), event.end_reason());
                    let reason = if reason == EndReason::Unspecified { "" } else { reason.word() };
                    let owner = event.claim.map(|claim| claim.owner).unwrap_or_default();
                    // A claim to several locks has one event.
                    for name in &event.names {
                        let vacant = if event.vacant_names.contains(name) { " vacant" } else { "" };
                        println!("{kind} name={name} revision={} owner={owner} {reason}{vacant}", event.revision);
                    }
                }
            }
            Some(Kind::HistoryGone(gone)) => println!("history is gone: {}", gone.cause().word()),
            Some(Kind::Progress(_)) | None => {}
        }
    }
    Ok(())
}
