//! Handover with Tenure's library: a session for each client, on 8 connections.

use std::sync::Arc;

use anyhow::Context;
use async_trait::async_trait;
use futures::future::try_join_all;
use tenure_client::{Client, Guard, Session};

use super::name;
use super::relay::{Contender, relay};
use crate::lab::Lab;
use crate::measure::{Figures, Load};
use crate::target::store::Store;
use crate::target::tenure::{Cluster, session};
use crate::work::{Candidate, Subject};

/// The target on PostgreSQL.
pub fn candidate() -> Candidate {
    Candidate::new("tenure-stream-postgres", async |lab: Arc<Lab>| {
        let cluster = lab.cluster(Store::Postgres, 1).await?;
        Ok(Sessions { clients: cluster.clients()?, cluster })
    })
}

struct Sessions {
    cluster: Arc<Cluster>,
    clients: Vec<Client>,
}

#[async_trait]
impl Subject for Sessions {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        let clients = self.clients.iter().cycle().take(load.level + 1);
        let contenders = try_join_all(clients.map(async |client| {
            anyhow::Ok(Holder { session: client.session(session()).await?, name: name(load), guard: None })
        }));
        let (figures, contenders) = relay(load, &self.cluster.processes(), contenders.await?).await?;
        try_join_all(contenders.iter().map(|contender| contender.session.close())).await?;
        Ok(figures)
    }
}

struct Holder {
    session: Session,
    name: String,
    guard: Option<Guard>,
}

impl Contender for Holder {
    async fn acquire(&mut self) -> anyhow::Result<()> {
        self.guard = Some(self.session.lock(self.name.as_str()).acquire().await?);
        Ok(())
    }

    async fn release(&mut self) -> anyhow::Result<()> {
        Ok(self.guard.take().context("it is not held")?.release().await?)
    }
}
