//! Pairs with etcd: by a transaction, as most clients lock, and by its own Lock service.

use std::sync::Arc;

use anyhow::{Context, ensure};
use async_trait::async_trait;
use futures::future::try_join_all;

use super::name;
use crate::measure::{Figures, Load, User, closed_loop};
use crate::target::etcd::messages::{DeleteRangeRequest, Op, PutRequest, TxnRequest};
use crate::target::etcd::{Connection, Etcd};
use crate::work::{Candidate, Subject};

/// The TTL of a lease, in seconds: longer than any measurement.
const TTL: i64 = 600;

/// The target with transactions: the key is written, attached to the client's lease, if it does not exist, and deleted
/// if it is still the one written.
pub fn transaction() -> Candidate {
    Candidate::new("etcd-txn", async |lab| Locks::connect(lab.etcd().await?, Method::Transaction).await)
}

/// The target with the Lock service.
pub fn lock() -> Candidate {
    Candidate::new("etcd-lock", async |lab| Locks::connect(lab.etcd().await?, Method::Lock).await)
}

#[derive(Clone, Copy)]
enum Method {
    Transaction,
    Lock,
}

struct Locks {
    etcd: Arc<Etcd>,
    connections: Vec<Connection>,
    method: Method,
}

impl Locks {
    async fn connect(etcd: Arc<Etcd>, method: Method) -> anyhow::Result<Self> {
        Ok(Self { connections: etcd.connections().await?, etcd, method })
    }
}

#[async_trait]
impl Subject for Locks {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        let connections = self.connections.iter().cycle().take(load.level);
        let users = connections
            .enumerate()
            .map(|(client, connection)| Client::open(connection, name(load, client), self.method));
        let users = try_join_all(users).await?;
        let (figures, users) = closed_loop(load, &self.etcd.processes(), users).await?;
        try_join_all(users.into_iter().map(Client::close)).await?;
        Ok(figures)
    }
}

struct Client {
    connection: Connection,
    lease: i64,
    name: String,
    method: Method,
}

impl Client {
    async fn open(connection: &Connection, name: String, method: Method) -> anyhow::Result<Self> {
        let mut connection = connection.clone();
        Ok(Self { lease: connection.grant_lease(TTL).await?, connection, name, method })
    }

    async fn close(mut self) -> anyhow::Result<()> {
        self.connection.revoke_lease(self.lease).await
    }

    async fn by_transaction(&mut self) -> anyhow::Result<()> {
        let key = self.name.as_bytes();
        let value = self.lease.to_string().into_bytes();
        let put = Op::Put(PutRequest { key: key.to_vec(), value, lease: self.lease });
        let acquired = self.connection.txn(TxnRequest::if_created_at(key, 0, put)).await?;
        ensure!(acquired.succeeded, "{} is not free", self.name);
        let revision = acquired.header.context("an answer without a revision")?.revision;
        let delete = Op::DeleteRange(DeleteRangeRequest { key: key.to_vec() });
        let released = self.connection.txn(TxnRequest::if_created_at(key, revision, delete)).await?;
        ensure!(released.succeeded, "{} was lost", self.name);
        Ok(())
    }
}

impl User for Client {
    async fn turn(&mut self) -> anyhow::Result<()> {
        match self.method {
            Method::Transaction => self.by_transaction().await,
            Method::Lock => {
                let key = self.connection.lock(&self.name, self.lease).await?;
                self.connection.unlock(key).await
            }
        }
    }
}
