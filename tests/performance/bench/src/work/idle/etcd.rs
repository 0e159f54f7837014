//! Idle leases of etcd.

use std::sync::Arc;

use anyhow::ensure;
use async_trait::async_trait;
use prost::Message;

use super::renewals::{IdleConnection, observe};
use super::{CONNECTIONS, ON_ONE, TTL};
use crate::measure::{Figures, Load};
use crate::target::etcd::messages::{LeaseKeepAliveRequest, LeaseKeepAliveResponse, Op, PutRequest, TxnRequest};
use crate::target::etcd::{Connection, Etcd, KEEP_ALIVE};
use crate::target::http2;
use crate::target::start_now;
use crate::work::{Candidate, Subject};

/// The levels at which etcd can renew all leases beside other work: each renewal is a message of its own.
const LEVELS: &[usize] = &[200, 1_000, 10_000];

/// Many leases on each connection.
pub fn leases() -> Candidate {
    Candidate::new("etcd-leases", async |_| Ok(Leases { on_one: ON_ONE })).only_at(LEVELS)
}

/// A connection for each lease.
pub fn clients() -> Candidate {
    Candidate::new("etcd-clients", async |_| Ok(Leases { on_one: 1 })).only_at(CONNECTIONS)
}

struct Leases {
    on_one: usize,
}

#[async_trait]
impl Subject for Leases {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        // A server of its own, so that all its memory is for these leases.
        let etcd = start_now(Etcd::start())?;
        let (port, plain) = (etcd.port(), Arc::new(etcd.connections().await?));
        let on_one = self.on_one;
        observe(load, &etcd.processes(), on_one, |connection| {
            let plain = plain[connection % plain.len()].clone();
            open(port, connection, on_one, plain)
        })
        .await
    }
}

async fn open(port: u16, connection: usize, on_one: usize, mut plain: Connection) -> anyhow::Result<IdleConnection> {
    let mut own = http2::Connection::open(port).await?;
    let stream = own.output().begin(KEEP_ALIVE);
    let mut renewals = Vec::new();
    for number in 0..on_one {
        let id = plain.grant_lease(TTL.as_secs() as i64).await?;
        let key = format!("lock-of-quiet-{connection}-{number}").into_bytes();
        let put = Op::Put(PutRequest { key: key.clone(), value: b"holder".to_vec(), lease: id });
        ensure!(plain.txn(TxnRequest::if_created_at(&key, 0, put)).await?.succeeded, "a key exists already");
        renewals.push(LeaseKeepAliveRequest { id }.encode_to_vec());
    }
    Ok(IdleConnection { connection: own, stream, renewals, every: TTL / 3, renews: 1, check })
}

fn check(message: &[u8]) -> anyhow::Result<()> {
    ensure!(LeaseKeepAliveResponse::decode(message)?.ttl > 0, "a lease is gone");
    Ok(())
}
