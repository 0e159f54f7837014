//! A server on a free port of this machine, to test the layers in front of its services.

use std::sync::Arc;
use std::time::Duration;

use tenure_server::auth::CredentialOptions;
use tenure_server::grpc::TtlBounds;
use tenure_server::node::NodeOptions;
use tenure_server::server::{Server, ServerOptions};
use tenure_server::store::{MemoryDatabase, MemoryStore};
use tenure_server::transport::ConnectionLimits;

use crate::lab;

/// Upper bound of every wait in a test.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// Waits for a future; exceeding [`TIMEOUT`] is a failure.
pub async fn within<T>(wait: impl Future<Output = T>) -> T {
    tokio::time::timeout(TIMEOUT, wait).await.expect("in time")
}

/// Options of a server on a free port, without TLS and credentials.
pub fn options() -> ServerOptions {
    ServerOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        tls: None,
        credentials: CredentialOptions::default(),
        connections: ConnectionLimits::default(),
        ttl: TtlBounds { min: Duration::from_millis(100), max: Duration::from_secs(3_600) },
        drain_timeout: Duration::from_secs(1),
        node: NodeOptions { address: String::new(), reattach: Duration::from_secs(1), ..lab::options() },
    }
}

/// Starts a server on a database in memory, and waits until it is ready.
pub async fn start(credentials: CredentialOptions, connections: ConnectionLimits) -> anyhow::Result<Server> {
    start_on(ServerOptions { credentials, connections, ..options() }, MemoryDatabase::new().server()).await
}

/// Starts a server on a store, and waits until it is ready.
pub async fn start_on(options: ServerOptions, store: Arc<MemoryStore>) -> anyhow::Result<Server> {
    let server = within(Server::start_with(options, store)).await?;
    within(server.readiness().wait_for(|readiness| readiness.is_ready())).await?;
    Ok(server)
}
