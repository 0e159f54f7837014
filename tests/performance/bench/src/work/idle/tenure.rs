//! Idle sessions of Tenure. Each measurement has servers of its own, so that all their memory is for these sessions.

use std::sync::Arc;

use async_trait::async_trait;

use super::renewals::{IdleConnection, observe};
use super::{CONNECTIONS, MOST_CONNECTIONS, ON_ONE, TTL};
use crate::lab::Lab;
use crate::measure::{Figures, Load};
use crate::target::store::Store;
use crate::target::tenure::Cluster;
use crate::target::tenure::raw::{self, Raw};
use crate::work::{Candidate, Subject};

/// Many sessions on each connection.
pub fn sessions() -> Candidate {
    Candidate::new("tenure-sessions-postgres", async |lab| Ok(Sessions { lab, on_one: ON_ONE }))
}

/// A connection for each session.
pub fn clients() -> Candidate {
    Candidate::new("tenure-clients-postgres", async |lab| Ok(Sessions { lab, on_one: 1 })).only_at(CONNECTIONS)
}

struct Sessions {
    lab: Arc<Lab>,
    on_one: usize,
}

#[async_trait]
impl Subject for Sessions {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        let cluster = Cluster::start_now(Store::Postgres, &self.lab)?;
        let (port, on_one) = (cluster.port()?, self.on_one.max(load.level / MOST_CONNECTIONS));
        observe(load, &cluster.processes(), on_one, |connection| open(port, connection, on_one)).await
    }
}

async fn open(port: u16, connection: usize, on_one: usize) -> anyhow::Result<IdleConnection> {
    let mut raw = Raw::open(port).await?;
    let stream = raw.begin(&format!("client-of-quiet-{connection}"));
    let every = raw.declare_holders(stream, &format!("quiet-{connection}"), on_one, TTL).await?;
    // Like the library: one message for all sessions of a client.
    Ok(IdleConnection {
        connection: raw.connection,
        stream,
        renewals: vec![raw::keep_alive()],
        every,
        renews: on_one,
        check: raw::kept_alive,
    })
}
