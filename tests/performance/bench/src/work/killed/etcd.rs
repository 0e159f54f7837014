//! Killed clients of etcd that used its Lock service.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use futures::future::try_join_all;
use futures::stream::FuturesUnordered;

use super::holder::{Holder, Service};
use super::name;
use super::takeover::{Since, Successor, measure};
use crate::lab::Lab;
use crate::measure::{Figures, Load};
use crate::target::etcd::{Connection, Etcd};
use crate::work::{Candidate, Subject};

/// The TTL, in milliseconds: the least that etcd grants by default.
const TTL: u64 = 2_000;

/// The TTL of the waiters' leases, in seconds: longer than any measurement.
const LONG_TTL: i64 = 600;

/// A waiter repeats its call after this time without an answer. Occasionally a call of etcd's Lock service (3.4) does
/// not return, although by etcd's keys the waiter has the lock; the repeated call then returns. The first call stays
/// open, since cancelling it would release the lock.
const ANSWERED: Duration = Duration::from_secs(5);

/// The target with leases.
pub fn candidate() -> Candidate {
    Candidate::new("etcd-lease", async |lab: Arc<Lab>| {
        let etcd = lab.etcd().await?;
        Ok(Killed { connections: etcd.connections().await?, etcd })
    })
}

struct Killed {
    etcd: Arc<Etcd>,
    connections: Vec<Connection>,
}

#[async_trait]
impl Subject for Killed {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        let port = self.etcd.port();
        let holder = |number| Holder { service: Service::Etcd, port, name: name(load, number), ttl: TTL, grace: None };
        let connections = self.connections.iter().cycle().take(load.level).cloned().enumerate();
        let successors = connections.map(async |(number, mut connection)| {
            let lease = connection.grant_lease(LONG_TTL).await?;
            anyhow::Ok(Waiter { connection, lease, name: name(load, number) })
        });
        let successors = try_join_all(successors).await?;
        let holders = (0..load.level).map(holder).collect();
        let (figures, successors) = measure(load, &self.etcd.processes(), Since::Renewal, holders, successors).await?;
        try_join_all(
            successors.into_iter().map(async |mut successor| successor.connection.revoke_lease(successor.lease).await),
        )
        .await?;
        Ok(figures)
    }
}

struct Waiter {
    connection: Connection,
    lease: i64,
    name: String,
}

impl Successor for Waiter {
    async fn acquire(&mut self) -> anyhow::Result<()> {
        let mut calls = FuturesUnordered::new();
        loop {
            let (mut connection, name, lease) = (self.connection.clone(), self.name.as_str(), self.lease);
            calls.push(async move { connection.lock(name, lease).await });
            if let Ok(Some(locked)) = tokio::time::timeout(ANSWERED, calls.next()).await {
                return locked.map(drop);
            }
        }
    }
}
