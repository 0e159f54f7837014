//! Killed clients of Tenure.

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::try_join_all;
use tenure_client::{Client, Guard, Session};

use super::holder::{Holder, Service};
use super::name;
use super::takeover::{Since, Successor, measure};
use crate::lab::Lab;
use crate::measure::{Figures, Load};
use crate::target::store::Store;
use crate::target::tenure::{Cluster, session};
use crate::work::{Candidate, Subject};

/// The TTL, in milliseconds.
pub const TTL: u64 = 1_000;
/// The TTL of sessions with a disconnect grace, in milliseconds, which end by the grace first.
const LONG_TTL: u64 = 10_000;
/// The disconnect grace, in milliseconds.
pub const GRACE: u64 = 300;

/// The target whose sessions end by their TTL.
pub fn by_ttl() -> Candidate {
    Candidate::new("tenure-ttl-postgres", async |lab| Killed::new(lab, None).await)
}

/// The target whose sessions end by their disconnect grace.
pub fn by_grace() -> Candidate {
    Candidate::new("tenure-grace-postgres", async |lab| Killed::new(lab, Some(GRACE)).await)
}

struct Killed {
    cluster: Arc<Cluster>,
    clients: Vec<Client>,
    grace: Option<u64>,
}

impl Killed {
    async fn new(lab: Arc<Lab>, grace: Option<u64>) -> anyhow::Result<Self> {
        let cluster = lab.cluster(Store::Postgres, 1).await?;
        Ok(Self { clients: cluster.clients()?, cluster, grace })
    }
}

#[async_trait]
impl Subject for Killed {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        let (port, grace) = (self.cluster.port()?, self.grace);
        let ttl = match grace {
            Some(_) => LONG_TTL,
            // The smoke test must pass even if the machine stalls.
            None if load.quick => 3 * TTL,
            None => TTL,
        };
        let holder = |number| Holder { service: Service::Tenure, port, name: name(load, number), ttl, grace };
        let successors = self.clients.iter().cycle().take(load.level).enumerate().map(async |(number, client)| {
            anyhow::Ok(Waiter { session: client.session(session()).await?, name: name(load, number), guard: None })
        });
        let successors = try_join_all(successors).await?;
        let since = if grace.is_none() { Since::Renewal } else { Since::Kill };
        let holders = (0..load.level).map(holder).collect();
        let (figures, successors) = measure(load, &self.cluster.processes(), since, holders, successors).await?;
        try_join_all(successors.iter().map(|successor| successor.session.close())).await?;
        Ok(figures)
    }
}

struct Waiter {
    session: Session,
    name: String,
    guard: Option<Guard>,
}

impl Successor for Waiter {
    async fn acquire(&mut self) -> anyhow::Result<()> {
        self.guard = Some(self.session.lock(self.name.as_str()).acquire().await?);
        Ok(())
    }
}
