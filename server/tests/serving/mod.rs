//! A server on a free port of this machine, to test the layers in front of its services.

use std::time::Duration;

use tenure_server::auth::CredentialOptions;
use tenure_server::grpc::TtlBounds;
use tenure_server::node::NodeOptions;
use tenure_server::server::{Server, ServerOptions};
use tenure_server::store::MemoryDatabase;
use tenure_server::transport::ConnectionLimits;

const PATIENCE: Duration = Duration::from_secs(20);

pub async fn within<T>(wait: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, wait).await.expect("it takes too long")
}

/// Starts a server on a database in memory, and waits until it is ready.
pub async fn start(credentials: CredentialOptions, connections: ConnectionLimits) -> anyhow::Result<Server> {
    let options = ServerOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        tls: None,
        credentials,
        connections,
        ttl: TtlBounds { min: Duration::from_millis(100), max: Duration::from_secs(3_600) },
        drain_timeout: Duration::from_secs(1),
        node: NodeOptions {
            lease: Duration::from_secs(10),
            label: "serving".to_owned(),
            address: String::new(),
            certificate: String::new(),
            reattach: Duration::from_secs(1),
            poll_interval: Duration::from_millis(20),
            max_namespaces: 10,
            history_retention: Duration::from_secs(3_600),
            history_max_bytes: 1 << 30,
        },
    };
    let server = within(Server::start_with(options, MemoryDatabase::new().server())).await?;
    within(server.readiness().wait_for(|readiness| readiness.is_ready())).await?;
    Ok(server)
}
