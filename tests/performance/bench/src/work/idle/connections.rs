//! Idle connections.

use std::sync::Arc;

use async_trait::async_trait;

use super::{BYTES, CONNECTIONS, MEMORY};
use crate::cpu::{Meter, Processes, server_memory};
use crate::lab::Lab;
use crate::measure::{Figures, Load};
use crate::target::etcd::Etcd;
use crate::target::http2::Connection;
use crate::target::start_now;
use crate::target::store::Store;
use crate::target::tenure::Cluster;
use crate::work::{Candidate, Subject};

/// To Tenure.
pub fn tenure() -> Candidate {
    Candidate::new("tenure-connections-postgres", async |lab| Ok(ToTenure(lab))).only_at(CONNECTIONS)
}

/// To etcd.
pub fn etcd() -> Candidate {
    Candidate::new("etcd-connections", async |_| Ok(ToEtcd)).only_at(CONNECTIONS)
}

struct ToTenure(Arc<Lab>);

#[async_trait]
impl Subject for ToTenure {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        let cluster = Cluster::start_now(Store::Postgres, &self.0)?;
        connect(load, cluster.port()?, &cluster.processes()).await
    }
}

struct ToEtcd;

#[async_trait]
impl Subject for ToEtcd {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        let etcd = start_now(Etcd::start())?;
        connect(load, etcd.port(), &etcd.processes()).await
    }
}

async fn connect(load: &Load, port: u16, processes: &Processes) -> anyhow::Result<Figures> {
    let empty = server_memory(processes);
    let mut connections = Vec::new();
    for _ in 0..load.level {
        let mut connection = Connection::open(port).await?;
        // Receives the server's settings, which prove that it serves this connection.
        connection.receive(|_, _, _| Ok(())).await?;
        connections.push(connection);
    }
    let meter = Meter::start(processes);
    tokio::time::sleep(load.time).await;
    let usage = meter.usage();
    let memory = usage.server_memory;
    let figures = Figures { usage, ..Figures::default() };
    Ok(figures.with(MEMORY, memory).with(BYTES, (memory * 1e6 - empty) / load.level as f64))
}
