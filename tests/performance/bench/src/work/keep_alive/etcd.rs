//! Keep-alives of etcd's leases, on the keep-alive stream.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::ensure;
use async_trait::async_trait;
use prost::Message;

use super::flood::{Renewals, flood};
use crate::lab::Lab;
use crate::measure::{Figures, Load};
use crate::target::CONNECTIONS;
use crate::target::etcd::messages::{LeaseKeepAliveRequest, LeaseKeepAliveResponse};
use crate::target::etcd::{Etcd, KEEP_ALIVE};
use crate::target::http2::Connection;
use crate::work::{Candidate, Subject};

/// The TTL of a lease, in seconds: longer than any measurement.
const TTL: i64 = 600;

/// The target with a lease on each stream.
pub fn candidate() -> Candidate {
    Candidate::new("etcd-lease", async |lab: Arc<Lab>| Ok(Leases(lab.etcd().await?)))
}

struct Leases(Arc<Etcd>);

#[async_trait]
impl Subject for Leases {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        let mut plain = self.0.connection().await?;
        let (mut all, mut leases) = (Vec::new(), Vec::new());
        for connection in 0..CONNECTIONS {
            let mut own = Connection::open(self.0.port()).await?;
            let mut streams = HashMap::new();
            for _ in (connection..load.level).step_by(CONNECTIONS) {
                let id = plain.grant_lease(TTL).await?;
                streams.insert(own.output().begin(KEEP_ALIVE), LeaseKeepAliveRequest { id }.encode_to_vec());
                leases.push(id);
            }
            all.push(Renewals { connection: own, streams, check });
        }
        let figures = flood(load, &self.0.processes(), all).await?;
        for lease in leases {
            plain.revoke_lease(lease).await?;
        }
        Ok(figures)
    }
}

fn check(message: &[u8]) -> anyhow::Result<()> {
    ensure!(LeaseKeepAliveResponse::decode(message)?.ttl > 0, "a lease is gone");
    Ok(())
}
