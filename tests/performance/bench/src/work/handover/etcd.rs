//! Handover with etcd's Lock service: a lease for each client, on 8 connections.

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::try_join_all;

use super::name;
use super::relay::{Contender, relay};
use crate::lab::Lab;
use crate::measure::{Figures, Load};
use crate::target::etcd::{Connection, Etcd};
use crate::work::{Candidate, Subject};

/// The TTL of a lease, in seconds: longer than any measurement.
const TTL: i64 = 600;

/// The target with the Lock service.
pub fn candidate() -> Candidate {
    Candidate::new("etcd-lock", async |lab: Arc<Lab>| {
        let etcd = lab.etcd().await?;
        Ok(Locks { connections: etcd.connections().await?, etcd })
    })
}

struct Locks {
    etcd: Arc<Etcd>,
    connections: Vec<Connection>,
}

#[async_trait]
impl Subject for Locks {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        let connections = self.connections.iter().cycle().take(load.level + 1).cloned();
        let contenders = try_join_all(connections.map(async |mut connection| {
            let lease = connection.grant_lease(TTL).await?;
            anyhow::Ok(Client { connection, lease, name: name(load), key: Vec::new() })
        }));
        let (figures, contenders) = relay(load, &self.etcd.processes(), contenders.await?).await?;
        try_join_all(contenders.into_iter().map(async |mut client| client.connection.revoke_lease(client.lease).await))
            .await?;
        Ok(figures)
    }
}

struct Client {
    connection: Connection,
    lease: i64,
    name: String,
    key: Vec<u8>,
}

impl Contender for Client {
    async fn acquire(&mut self) -> anyhow::Result<()> {
        self.key = self.connection.lock(&self.name, self.lease).await?;
        Ok(())
    }

    async fn release(&mut self) -> anyhow::Result<()> {
        self.connection.unlock(std::mem::take(&mut self.key)).await
    }
}
