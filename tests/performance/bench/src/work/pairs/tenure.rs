//! Pairs with Tenure: by plain calls, and by the client library's stream.

use std::sync::Arc;

use anyhow::bail;
use async_trait::async_trait;
use futures::future::try_join_all;
use tenure_client::Client;
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::session_service_client::SessionServiceClient;
use tenure_proto::v1::{AcquireRequest, CloseSessionRequest, OpenSessionRequest, ReleaseRequest};
use tonic::transport::Channel;

use super::name;
use crate::measure::{Figures, Load, User, closed_loop};
use crate::target::store::Store;
use crate::target::tenure::{Cluster, PairUser, TTL};
use crate::work::{Candidate, Subject};

/// The target with plain calls.
pub fn plain(store: Store, servers: usize) -> Candidate {
    Candidate::new(target("plain", store, servers), async move |lab| {
        let cluster = lab.cluster(store, servers).await?;
        Ok(Plain { channels: cluster.channels().await?, cluster })
    })
}

/// The target with the library.
pub fn stream(store: Store, servers: usize) -> Candidate {
    Candidate::new(target("stream", store, servers), async move |lab| {
        let cluster = lab.cluster(store, servers).await?;
        Ok(Stream { clients: cluster.clients()?, cluster })
    })
}

fn target(method: &str, store: Store, servers: usize) -> String {
    let servers = if servers == 1 { String::new() } else { servers.to_string() };
    format!("tenure{servers}-{method}-{}", store.name())
}

struct Plain {
    cluster: Arc<Cluster>,
    channels: Vec<Channel>,
}

#[async_trait]
impl Subject for Plain {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        let channels = self.channels.iter().cycle().take(load.level);
        let users = try_join_all(
            channels.enumerate().map(|(client, channel)| Caller::open(channel.clone(), name(load, client))),
        );
        let (figures, users) = closed_loop(load, &self.cluster.processes(), users.await?).await?;
        try_join_all(users.into_iter().map(Caller::close)).await?;
        Ok(figures)
    }
}

struct Caller {
    channel: Channel,
    locks: LockServiceClient<Channel>,
    name: String,
    session: String,
}

impl Caller {
    async fn open(channel: Channel, name: String) -> anyhow::Result<Self> {
        let request = OpenSessionRequest { ttl: Some(TTL.try_into()?), ..OpenSessionRequest::default() };
        let opened = SessionServiceClient::new(channel.clone()).open_session(request).await?.into_inner();
        let session = opened.session.unwrap_or_default().id;
        Ok(Self { locks: LockServiceClient::new(channel.clone()), channel, name, session })
    }

    async fn close(self) -> anyhow::Result<()> {
        let request = CloseSessionRequest { session_id: self.session, ..CloseSessionRequest::default() };
        SessionServiceClient::new(self.channel).close_session(request).await?;
        Ok(())
    }
}

impl User for Caller {
    async fn turn(&mut self) -> anyhow::Result<()> {
        let acquire = AcquireRequest {
            names: vec![self.name.clone()],
            session_id: self.session.clone(),
            wait: Some(prost_types::Duration::default()),
            ..AcquireRequest::default()
        };
        let answer = self.locks.acquire(acquire).await?.into_inner();
        if !answer.acquired {
            bail!("{} is not free", self.name);
        }
        let release = ReleaseRequest {
            name: self.name.clone(),
            session_id: self.session.clone(),
            token: answer.token,
            ..ReleaseRequest::default()
        };
        self.locks.release(release).await?;
        Ok(())
    }
}

struct Stream {
    cluster: Arc<Cluster>,
    clients: Vec<Client>,
}

#[async_trait]
impl Subject for Stream {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        let clients = self.clients.iter().cycle().take(load.level);
        let users = try_join_all(
            clients.enumerate().map(|(client, connection)| PairUser::open(connection, name(load, client))),
        );
        let (figures, users) = closed_loop(load, &self.cluster.processes(), users.await?).await?;
        try_join_all(users.iter().map(PairUser::close)).await?;
        Ok(figures)
    }
}
