//! A Galera cluster, one node of which takes the writes.

use async_trait::async_trait;
use tenure_harness::Galera;

use super::Cluster;

/// The name of the database.
const NAME: &str = "tenure";

/// The number of nodes: the minimum that tolerates one failure.
const NODES: usize = 3;

/// A cluster. All nodes accept writes; the clients are responsible for writing to just one.
pub(super) struct GaleraCluster {
    nodes: Galera,
    /// The node that receives the writes.
    writer: usize,
}

impl GaleraCluster {
    pub(super) async fn start() -> anyhow::Result<Self> {
        let nodes = Galera::start(NODES).await?;
        nodes.execute(0, &format!("CREATE DATABASE {NAME}")).await?;
        Ok(Self { nodes, writer: 0 })
    }
}

#[async_trait(?Send)]
impl Cluster for GaleraCluster {
    /// If servers were given all nodes, each would find one that accepts writes, but not all the same one.
    fn url(&self, proxy_port: u16) -> String {
        self.url_of(proxy_port)
    }

    fn url_of(&self, port: u16) -> String {
        format!("mysql://root@127.0.0.1:{port}/{NAME}")
    }

    fn writer(&self) -> u16 {
        self.nodes.port(self.writer)
    }

    async fn kill(&mut self) -> anyhow::Result<()> {
        self.nodes.kill(self.writer).await
    }

    async fn take_over(&mut self) -> anyhow::Result<()> {
        self.writer = (self.writer + 1) % NODES;
        self.nodes.wait_for_size(self.writer, NODES - 1).await
    }

    async fn rebuild(&mut self) -> anyhow::Result<()> {
        self.nodes.start_again((self.writer + NODES - 1) % NODES).await
    }
}
