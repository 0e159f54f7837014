//! Pairs with ZooKeeper: an ephemeral node is created and deleted. The recipe for fair locks takes more steps.

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::try_join_all;

use super::name;
use crate::measure::{Figures, Load, User, closed_loop};
use crate::target::zookeeper::{Connection, ZooKeeper};
use crate::work::{Candidate, Subject};

/// The target with ephemeral nodes.
pub fn candidate() -> Candidate {
    Candidate::new("zookeeper", async |lab| Ok(Locks(lab.zookeeper().await?)))
}

struct Locks(Arc<ZooKeeper>);

#[async_trait]
impl Subject for Locks {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        // A session expires without requests, so it is opened for each measurement.
        let connections = self.0.connections().await?;
        let clients = connections.iter().cycle().take(load.level).enumerate();
        let users = clients.map(|(client, connection)| Client::new(connection.clone(), name(load, client))).collect();
        let (figures, _) = closed_loop(load, &self.0.processes(), users).await?;
        try_join_all(connections.iter().map(Connection::close)).await?;
        Ok(figures)
    }
}

struct Client {
    connection: Connection,
    path: String,
    owner: String,
}

impl Client {
    fn new(connection: Connection, name: String) -> Self {
        Self { connection, path: format!("/{name}"), owner: format!("owner of {name}") }
    }
}

impl User for Client {
    async fn turn(&mut self) -> anyhow::Result<()> {
        self.connection.create(&self.path, self.owner.as_bytes()).await?;
        self.connection.delete(&self.path).await
    }
}
