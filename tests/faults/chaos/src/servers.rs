//! The servers, and the proxies between them, their clients and the database.

use std::path::PathBuf;

use tenure_harness::{Tenured, TenuredOptions};
use tokio::sync::Mutex;

use crate::proxy::Proxy;

/// A server. Each part is locked by at most one fault at a time.
#[derive(Debug)]
pub struct Server {
    /// Its process.
    pub process: Mutex<Tenured>,
    /// The proxy for clients.
    pub client_proxy: Mutex<Proxy>,
    /// The proxy for other servers.
    pub peer_proxy: Mutex<Proxy>,
    /// The proxy to the database.
    pub store_proxy: Mutex<Proxy>,
    /// The URL for clients.
    pub url: String,
}

/// The servers' logs, by name.
pub async fn logs(servers: impl IntoIterator<Item = &Server>) -> Vec<(String, PathBuf)> {
    let mut logs = Vec::new();
    for (number, server) in servers.into_iter().enumerate() {
        logs.push((format!("server-{number}"), server.process.lock().await.log_file()));
    }
    logs
}

impl Server {
    /// Starts a server. `store` makes its database URL from the port of a proxy that leads to `database`.
    ///
    /// # Errors
    /// If it does not start.
    pub async fn start(
        database: u16,
        store: impl FnOnce(u16) -> String,
        environment: Vec<(String, String)>,
    ) -> anyhow::Result<Self> {
        let (client_proxy, peer_proxy, store_proxy) =
            (Proxy::start().await?, Proxy::start().await?, Proxy::start().await?);
        store_proxy.set_target(database);
        let mut options = TenuredOptions::store(store(store_proxy.port()))
            .argument("--server-lease=3000ms")
            .argument("--store-statement-timeout=2000ms")
            .argument(format!("--advertise=127.0.0.1:{}", peer_proxy.port()));
        options.environment = environment;
        let process = Tenured::start(&options).await?;
        client_proxy.set_target(process.port());
        peer_proxy.set_target(process.port());
        let url = client_proxy.url();
        let (client_proxy, peer_proxy, store_proxy) =
            (Mutex::new(client_proxy), Mutex::new(peer_proxy), Mutex::new(store_proxy));
        Ok(Self { process: Mutex::new(process), client_proxy, peer_proxy, store_proxy, url })
    }
}
