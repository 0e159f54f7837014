//! Tests of a database whose disk is full.

use std::time::Duration;

use tenure_e2e::Calls;
use tenure_harness::{SmallDisk, Tenured, TenuredOptions, wait_until};
use tonic::Code;

const TTL: Duration = Duration::from_secs(600);
const PATIENCE: Duration = Duration::from_secs(60);
const DISK: u64 = 8 << 20;

/// The value of a gauge.
async fn gauge(server: &Tenured, name: &str) -> Option<f64> {
    let page = server.page("/metrics", "text/plain").await?;
    page.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

#[tokio::test(flavor = "multi_thread")]
async fn full_disk_rejects_changes_and_recovers() {
    let disk = SmallDisk::mount(DISK).unwrap();
    let url = format!("sqlite:{}/tenure.db", disk.folder().display());
    let mut server = Tenured::start(&TenuredOptions::store(url)).await.unwrap();
    let calls = Calls::connect(&server.url()).await.unwrap();
    let held = calls.try_lock("before", "a", TTL).await.unwrap();
    for round in 0..2 {
        disk.fill().unwrap();
        let mut number = 0;
        wait_until(PATIENCE, "changes are rejected", async || {
            number += 1;
            match calls.try_lock(&format!("{round}-{number}"), "a", TTL).await {
                Ok(_) => false,
                Err(status) => {
                    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
                    true
                }
            }
        })
        .await;
        wait_until(PATIENCE, "the server is not ready", async || server.status("/readyz").await == Some(503)).await;
        let readiness = server.readiness().await.unwrap();
        assert!(readiness.contains("full"), "{readiness}");
        wait_until(PATIENCE, "the gauge", async || gauge(&server, "tenure_ready").await == Some(0.0)).await;
        assert_eq!(calls.lock("before").await.unwrap().holders[0].token, held.token, "reads continue");
        assert!(calls.revision().await.unwrap() > 0);
        disk.free().unwrap();
        wait_until(PATIENCE, "the server is ready", async || server.status("/readyz").await == Some(200)).await;
        let after = calls.try_lock(&format!("after-{round}"), "a", TTL).await.unwrap();
        assert!(after.acquired && after.token > held.token);
    }
    let token = held.token;
    server.stop().await.unwrap();
    server.start_again().await.unwrap();
    let calls = Calls::connect(&server.url()).await.unwrap();
    assert_eq!(calls.lock("before").await.unwrap().holders[0].token, token);
}
