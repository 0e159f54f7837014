//! A running server.

use std::net::SocketAddr;

use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::admin::Readiness;
use crate::config::Config;

/// A running server.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    readiness: watch::Sender<Readiness>,
}

impl Server {
    /// Starts it.
    ///
    /// # Errors
    /// If its address is not free.
    pub async fn start(config: Config) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(config.listen).await?;
        Ok(Self { listener, readiness: watch::channel(Readiness::READY).0 })
    }

    /// The address that it is bound to.
    ///
    /// # Panics
    /// Never for a bound socket.
    #[must_use]
    #[allow(clippy::unwrap_used)]
    pub fn grpc_address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap()
    }

    /// Whether it can serve.
    #[must_use]
    pub fn ready(&self) -> watch::Receiver<Readiness> {
        self.readiness.subscribe()
    }

    /// Returns when it has stopped.
    pub async fn stopped(&self) {
        std::future::pending().await
    }

    /// Drains and stops it.
    pub async fn drain_and_stop(self) {}
}
