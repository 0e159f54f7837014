//! Prints the holders of locks as they change.
//!
//! `cargo run --example watch -- PREFIX`, with a server at `TENURE_ENDPOINTS` (default: port 7420 of this machine).

use tenure_client::{Client, ClientOptions, WatchEvent, WatchOptions};

#[tokio::main(flavor = "current_thread")]
async fn main() -> tenure_client::Result<()> {
    let prefix = std::env::args().nth(1).unwrap_or_default();
    let client = Client::connect(ClientOptions::from_env())?;
    let mut watch = client.watch(WatchOptions::all().prefix(prefix));
    while let Some(item) = watch.next().await {
        match item? {
            WatchEvent::Snapshot { locks, revision, .. } => {
                println!("snapshot revision={revision}");
                for lock in locks {
                    let holder = lock.holder().map_or("nobody", |claim| claim.owner.as_str());
                    println!("lock name={} holder={holder} waiters={}", lock.name, lock.waiter_count);
                }
            }
            WatchEvent::Events { events, .. } => {
                for event in events {
                    let owner = event.claim.map(|claim| claim.owner).unwrap_or_default();
                    let kind = event.kind.as_str();
                    let reason = event.end_reason.map_or("", |reason| reason.as_str());
                    let vacant = if event.vacant { " vacant" } else { "" };
                    println!("{kind} name={} revision={} owner={owner} {reason}{vacant}", event.name, event.revision);
                }
            }
            WatchEvent::HistoryGone { cause } => println!("history is gone: {cause:?}"),
            _ => {}
        }
    }
    Ok(())
}
