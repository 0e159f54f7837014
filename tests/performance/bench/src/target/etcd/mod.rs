//! etcd, with its default settings: commits are durable.

pub mod messages;

use anyhow::Context;
use http::uri::PathAndQuery;
use prost::Message;
use tenure_harness::Served;
use tonic::Request;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;

use self::messages::{
    LeaseGrantRequest, LeaseGrantResponse, LeaseRevokeRequest, LeaseRevokeResponse, LockRequest, LockResponse,
    TxnRequest, TxnResponse, UnlockRequest, UnlockResponse,
};
use crate::cpu::Processes;
use crate::target::{CONNECTIONS, peer};

/// The stream for lease renewals.
pub const KEEP_ALIVE: &str = "/etcdserverpb.Lease/LeaseKeepAlive";

/// One server.
#[derive(Debug)]
pub struct Etcd(Served);

impl Etcd {
    /// Starts one on fresh data.
    pub async fn start() -> anyhow::Result<Self> {
        Ok(Self(Served::start_etcd(peer("etcd", "etcd-server")?).await?))
    }

    /// The processes whose processor time counts.
    pub fn processes(&self) -> Processes {
        Processes { server: self.0.process_id().into_iter().collect(), database: Vec::new() }
    }

    /// The port, for clients that bring their own connection.
    pub fn port(&self) -> u16 {
        self.0.port()
    }

    /// Opens the connections that all clients share.
    pub async fn connections(&self) -> anyhow::Result<Vec<Connection>> {
        let mut connections = Vec::new();
        for _ in 0..CONNECTIONS {
            connections.push(self.connection().await?);
        }
        Ok(connections)
    }

    /// Opens one connection.
    pub async fn connection(&self) -> anyhow::Result<Connection> {
        Connection::open(self.port()).await
    }
}

/// A connection: clones share it.
#[derive(Clone, Debug)]
pub struct Connection(Grpc<Channel>);

impl Connection {
    /// Opens one to this port of this machine.
    pub async fn open(port: u16) -> anyhow::Result<Self> {
        let url = format!("http://127.0.0.1:{port}");
        Ok(Self(Grpc::new(Endpoint::from_shared(url)?.connect().await?)))
    }

    /// Executes a transaction.
    pub async fn txn(&mut self, request: TxnRequest) -> anyhow::Result<TxnResponse> {
        self.call("/etcdserverpb.KV/Txn", request).await
    }

    /// Creates a lease, and returns its id.
    pub async fn grant_lease(&mut self, seconds: i64) -> anyhow::Result<i64> {
        let request = LeaseGrantRequest { ttl: seconds, id: 0 };
        let lease: LeaseGrantResponse = self.call("/etcdserverpb.Lease/LeaseGrant", request).await?;
        Ok(lease.id)
    }

    /// Revokes a lease, and deletes the keys attached to it.
    pub async fn revoke_lease(&mut self, id: i64) -> anyhow::Result<()> {
        let _: LeaseRevokeResponse = self.call("/etcdserverpb.Lease/LeaseRevoke", LeaseRevokeRequest { id }).await?;
        Ok(())
    }

    /// Acquires the lock of this name, and returns the key that represents the hold.
    pub async fn lock(&mut self, name: &str, lease: i64) -> anyhow::Result<Vec<u8>> {
        let request = LockRequest { name: name.as_bytes().to_vec(), lease };
        let response: LockResponse = self.call("/v3lockpb.Lock/Lock", request).await?;
        Ok(response.key)
    }

    /// Releases a hold.
    pub async fn unlock(&mut self, key: Vec<u8>) -> anyhow::Result<()> {
        let _: UnlockResponse = self.call("/v3lockpb.Lock/Unlock", UnlockRequest { key }).await?;
        Ok(())
    }

    async fn call<M, A>(&mut self, path: &'static str, message: M) -> anyhow::Result<A>
    where
        M: Message + 'static,
        A: Message + Default + 'static,
    {
        self.0.ready().await.context("etcd is gone")?;
        let codec: ProstCodec<M, A> = ProstCodec::default();
        let answer = self.0.unary(Request::new(message), PathAndQuery::from_static(path), codec).await?;
        Ok(answer.into_inner())
    }
}
