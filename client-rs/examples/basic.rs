//! Waits for a lock, works under it, and releases it.
//!
//! `cargo run --example basic`, with a server at `TENURE_ENDPOINTS` (default: port 7420 of this machine).

use std::time::Duration;

use tenure_client::{Client, ClientOptions};

#[tokio::main(flavor = "current_thread")]
async fn main() -> tenure_client::Result<()> {
    // snippet: basic
    let client = Client::connect(ClientOptions::from_env())?;
    let guard = client.lock("nightly-report").ttl(Duration::from_secs(5)).owner("basic").acquire().await?;
    println!("acquired token={}", guard.token());
    // Each write goes along with the token; work that takes long looks whether the lock is still there.
    println!("valid={}", guard.is_valid());
    guard.release().await?;
    // snippet end
    println!("released");
    client.close().await
}
