//! Many held locks with Tenure. Each measurement has servers of its own.

use std::sync::Arc;

use anyhow::Context;
use async_trait::async_trait;
use futures::future::try_join_all;
use tenure_proto::v1::WatchRequest;
use tenure_proto::v1::watch_response::Kind;
use tenure_proto::v1::watch_service_client::WatchServiceClient;
use tonic::transport::Channel;

use super::fill::fill;
use super::{ALONE, BESIDE_SNAPSHOTS, FILLED, LOAD, MEMORY, MEMORY_LOADED, WRITTEN};
use crate::cpu::{Processes, server_memory, settled_memory, wait_until_idle};
use crate::lab::Lab;
use crate::measure::{Figures, Load, closed_loop};
use crate::target::store::Store;
use crate::target::tenure::{Cluster, PairUser};
use crate::work::{Candidate, Subject};

/// The number of clients that work beside the holders.
const CLIENTS: usize = 16;

/// The target with this store.
pub fn candidate(store: Store) -> Candidate {
    let start = async move |lab| Ok(Held { lab, store });
    Candidate::new(format!("tenure-stream-{}", store.name()), start)
}

struct Held {
    lab: Arc<Lab>,
    store: Store,
}

#[async_trait]
impl Subject for Held {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        let mut cluster = Cluster::start_now(self.store, &self.lab)?;
        let a_lock = |memory: f64, before: f64| (memory - before) / load.level as f64;
        // The quick form checks the bench itself.
        let settled = async |processes: &Processes| match load.quick {
            true => server_memory(processes),
            false => settled_memory(processes).await,
        };
        let empty = server_memory(&cluster.processes());
        let (filled, connections) = fill(&cluster, load.level).await?;
        // The acquired locks are in the log, and are written to the tables later.
        let written = wait_until_idle(&cluster.processes()).await?;
        let memory = a_lock(settled(&cluster.processes()).await, empty);

        let alone = pairs(&cluster, load, 1).await?;
        let figures = pairs(&cluster, load, CLIENTS).await?;
        let channel = cluster.channels().await?.swap_remove(0);
        let beside = tokio::select! {
            beside = pairs(&cluster, load, 1) => beside?,
            failed = read_snapshots(channel) => return failed,
        };
        drop(connections);
        let ready = cluster.start_again()?;
        let loaded = a_lock(settled(&cluster.processes()).await, empty);
        Ok(figures
            .with(FILLED, filled)
            .with(WRITTEN, written.as_secs_f64())
            .with(MEMORY, memory)
            .with(ALONE, alone.latency.map_or(f64::NAN, |latency| latency.p50))
            .with(BESIDE_SNAPSHOTS, beside.latency.map_or(f64::NAN, |latency| latency.p99))
            .with(LOAD, ready.as_secs_f64())
            .with(MEMORY_LOADED, loaded))
    }
}

async fn pairs(cluster: &Cluster, load: &Load, users: usize) -> anyhow::Result<Figures> {
    let clients = cluster.clients()?;
    let users = clients.iter().cycle().take(users).enumerate();
    let users = users.map(|(number, client)| PairUser::open(client, format!("pair-{number}")));
    let (figures, users) = closed_loop(load, &cluster.processes(), try_join_all(users).await?).await?;
    try_join_all(users.iter().map(PairUser::close)).await?;
    Ok(figures)
}

/// Reads snapshots of everything, one after the other. Returns only if that fails.
async fn read_snapshots(channel: Channel) -> anyhow::Result<Figures> {
    let mut watches = WatchServiceClient::new(channel);
    loop {
        let mut watch = watches.watch(WatchRequest::default()).await?.into_inner();
        loop {
            let message = watch.message().await?.context("a watch ended")?;
            if matches!(message.kind, Some(Kind::Snapshot(snapshot)) if !snapshot.more) {
                break;
            }
        }
    }
}
