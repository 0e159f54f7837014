//! A Galera cluster, of which one node takes the writes.

use async_trait::async_trait;
use tenure_harness::Galera;

use super::Cluster;

/// The name of the database.
const NAME: &str = "tenure";

/// How many nodes there are: the fewest of which one may fail.
const NODES: usize = 3;

/// A cluster. All nodes would take writes; that just one gets them is up to those who write.
pub(super) struct GaleraCluster {
    nodes: Galera,
    /// The node that gets the writes.
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
    /// Servers that were told all nodes would each find one that takes writes, and not all of them the same.
    fn url(&self, way: u16) -> String {
        self.url_of(way)
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
        self.nodes.is_joined_by(self.writer, NODES - 1).await
    }

    async fn rebuild(&mut self) -> anyhow::Result<()> {
        self.nodes.start_again((self.writer + NODES - 1) % NODES).await
    }
}
