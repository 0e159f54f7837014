//! Watchers of etcd.

use std::sync::Arc;

use anyhow::{Context, ensure};
use async_trait::async_trait;
use prost::Message;

use super::changes::{Changer, observe};
use super::counting::{Call, Watchers};
use super::prefix;
use crate::lab::Lab;
use crate::measure::{Figures, Load};
use crate::target::etcd::messages::{DeleteRangeRequest, Op, PutRequest, TxnRequest, WatchCreateRequest, WatchRequest};
use crate::target::etcd::{Connection, Etcd};
use crate::work::{Candidate, Subject};

/// Fields of etcd's `WatchResponse`.
const CREATED: u32 = 3;
const EVENTS: u32 = 11;

/// The TTL of the changing client's lease, in seconds.
const TTL: i64 = 600;

/// The target with Watch calls.
pub fn candidate() -> Candidate {
    Candidate::new("etcd-watch", async |lab: Arc<Lab>| Ok(Watches(lab.etcd().await?)))
}

struct Watches(Arc<Etcd>);

#[async_trait]
impl Subject for Watches {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        let prefix = prefix(load);
        let key = format!("{prefix}lock").into_bytes();
        // The prefix ends with '/', and '0' is the next character.
        let range_end = format!("{}0", prefix.trim_end_matches('/')).into_bytes();
        let create_request = Some(WatchCreateRequest { key: prefix.into_bytes(), range_end });
        let call = Call {
            path: "/etcdserverpb.Watch/Watch",
            request: WatchRequest { create_request }.encode_to_vec(),
            has_request_stream: true,
            begun: CREATED,
            change: EVENTS,
        };
        let mut connection = self.0.connection().await?;
        let lease = connection.grant_lease(TTL).await?;
        let mut taker = Taker { connection, lease, key, revision: 0 };
        let watchers = Watchers::start(self.0.port(), load.level, &call).await?;
        let watchers = Some(watchers).filter(|_| load.level > 0);
        let figures = observe(&load.longer(4), &self.0.processes(), &mut taker, watchers).await?;
        taker.connection.revoke_lease(lease).await?;
        Ok(figures)
    }
}

struct Taker {
    connection: Connection,
    lease: i64,
    key: Vec<u8>,
    revision: i64,
}

impl Changer for Taker {
    async fn acquire(&mut self) -> anyhow::Result<()> {
        let put = Op::Put(PutRequest { key: self.key.clone(), value: b"holder".to_vec(), lease: self.lease });
        let acquired = self.connection.txn(TxnRequest::if_created_at(&self.key, 0, put)).await?;
        ensure!(acquired.succeeded, "it is not free");
        self.revision = acquired.header.context("an answer without a revision")?.revision;
        Ok(())
    }

    async fn release(&mut self) -> anyhow::Result<()> {
        let delete = Op::DeleteRange(DeleteRangeRequest { key: self.key.clone() });
        let released = self.connection.txn(TxnRequest::if_created_at(&self.key, self.revision, delete)).await?;
        ensure!(released.succeeded, "it was lost");
        Ok(())
    }
}
