//! Tests that a server reports when the commits of its database no longer wait for a replica.

use std::time::Duration;

use tenure_harness::{Flavour, MySqlServer, Tenured, TenuredOptions, on_mariadb_and_mysql, wait_until};

/// A heartbeat comes within seconds.
const PATIENCE: Duration = Duration::from_secs(30);

on_mariadb_and_mysql!(lapse_of_semi_synchronous_replication_is_reported);

async fn lapse_of_semi_synchronous_replication_is_reported<F: Flavour>() {
    let server = MySqlServer::<F>::start_with(&["--log-bin=log", "--sync-binlog=1"]).await.unwrap();
    // MariaDB knows it without a plugin.
    let plugin = server.execute("INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'").await;
    let role = if plugin.is_ok() { "source" } else { "master" };
    // There is no replica, so that the first commit waits until this has passed.
    let timeout = format!("SET GLOBAL rpl_semi_sync_{role}_timeout = 100");
    server.execute(&timeout).await.unwrap();
    server.execute(&format!("SET GLOBAL rpl_semi_sync_{role}_enabled = ON")).await.unwrap();
    let url = server.create_database().await.unwrap();
    let tenured = Tenured::start(&TenuredOptions::store(url)).await.unwrap();
    await_report(&tenured, true).await;
    assert!(tenured.log_tail().contains("replication has lapsed"), "{}", tenured.log_tail());
    server.execute(&format!("SET GLOBAL rpl_semi_sync_{role}_enabled = OFF")).await.unwrap();
    await_report(&tenured, false).await;
}

/// Waits until the metric says whether it has lapsed.
async fn await_report(tenured: &Tenured, has_lapsed: bool) {
    let sample = format!("\ntenure_store_semi_sync_lapsed {}\n", u8::from(has_lapsed));
    wait_until(PATIENCE, sample.trim(), async || {
        tenured.page("/metrics", "text/plain").await.is_some_and(|page| page.contains(&sample))
    })
    .await;
}
