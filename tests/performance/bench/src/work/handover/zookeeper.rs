//! Handover with ZooKeeper, as Curator locks: sequential nodes, each client watching the node before its own.

use std::sync::Arc;

use anyhow::Context;
use async_trait::async_trait;
use futures::future::try_join_all;

use super::name;
use super::relay::{Contender, relay};
use crate::lab::Lab;
use crate::measure::{Figures, Load};
use crate::target::zookeeper::{Connection, ZooKeeper};
use crate::work::{Candidate, Subject};

/// The target with the recipe for fair locks.
pub fn candidate() -> Candidate {
    Candidate::new("zookeeper-recipe", async |lab: Arc<Lab>| Ok(Locks(lab.zookeeper().await?)))
}

struct Locks(Arc<ZooKeeper>);

#[async_trait]
impl Subject for Locks {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        // A session expires without requests, so it is opened for each measurement.
        let connections = self.0.connections().await?;
        let parent = format!("/{}", name(load));
        connections[0].create_persistent(&parent).await?;
        let contenders = connections.iter().cycle().take(load.level + 1);
        let contenders = contenders
            .map(|connection| Client { connection: connection.clone(), parent: parent.clone(), node: None })
            .collect();
        let (figures, _) = relay(load, &self.0.processes(), contenders).await?;
        connections[0].delete(&parent).await?;
        try_join_all(connections.iter().map(Connection::close)).await?;
        Ok(figures)
    }
}

struct Client {
    connection: Connection,
    parent: String,
    node: Option<String>,
}

impl Contender for Client {
    async fn acquire(&mut self) -> anyhow::Result<()> {
        let path = self.connection.create_sequential(&format!("{}/lock-", self.parent)).await?;
        let own = path.rsplit('/').next().unwrap_or_default();
        loop {
            let mut all = self.connection.children(&self.parent).await?;
            all.sort_unstable();
            let index = all.iter().position(|name| name == own).context("the node is gone")?;
            let Some(before) = index.checked_sub(1).and_then(|index| all.get(index)) else { break };
            self.connection.changed(&format!("{}/{before}", self.parent)).await?;
        }
        self.node = Some(path);
        Ok(())
    }

    async fn release(&mut self) -> anyhow::Result<()> {
        self.connection.delete(&self.node.take().context("it is not held")?).await
    }
}
