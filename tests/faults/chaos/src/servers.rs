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
    pub front: Mutex<Proxy>,
    /// The proxy for other servers.
    pub side: Mutex<Proxy>,
    /// The proxy to the database.
    pub back: Mutex<Proxy>,
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
        let (front, side, back) = (Proxy::start().await?, Proxy::start().await?, Proxy::start().await?);
        back.lead_to(database);
        let mut options = TenuredOptions::store(store(back.port()))
            .argument("--server-lease=3000ms")
            .argument("--store-statement-timeout=2000ms")
            .argument(format!("--advertise=127.0.0.1:{}", side.port()));
        options.environment = environment;
        let process = Tenured::start(&options).await?;
        front.lead_to(process.port());
        side.lead_to(process.port());
        let url = front.url();
        let (front, side, back) = (Mutex::new(front), Mutex::new(side), Mutex::new(back));
        Ok(Self { process: Mutex::new(process), front, side, back, url })
    }
}
