//! Watchers of Tenure, by plain Watch calls.

use std::sync::Arc;

use anyhow::{Context, bail};
use async_trait::async_trait;
use prost::Message;
use tenure_client::{Attempt, Client, Guard, Session};
use tenure_proto::v1::WatchRequest;

use super::changes::{Changer, observe};
use super::counting::{Call, Watchers};
use super::prefix;
use crate::lab::Lab;
use crate::measure::{Figures, Load};
use crate::target::store::Store;
use crate::target::tenure::{Cluster, session};
use crate::work::{Candidate, Subject};

/// Fields of `WatchResponse`.
const SNAPSHOT: u32 = 2;
const EVENTS: u32 = 3;

/// The target on PostgreSQL.
pub fn candidate() -> Candidate {
    Candidate::new("tenure-watch-postgres", async |lab: Arc<Lab>| {
        let cluster = lab.cluster(Store::Postgres, 1).await?;
        let client = cluster.clients()?.swap_remove(0);
        Ok(Watches { client, cluster })
    })
}

struct Watches {
    cluster: Arc<Cluster>,
    client: Client,
}

#[async_trait]
impl Subject for Watches {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        let prefix = prefix(load);
        let name = format!("{prefix}lock");
        let call = Call {
            path: "/tenure.v1.WatchService/Watch",
            request: WatchRequest { prefixes: vec![prefix], ..WatchRequest::default() }.encode_to_vec(),
            has_request_stream: false,
            begun: SNAPSHOT,
            change: EVENTS,
        };
        let mut taker = Taker { session: self.client.session(session()).await?, name, guard: None };
        let watchers = Watchers::start(self.cluster.port()?, load.level, &call).await?;
        let watchers = Some(watchers).filter(|_| load.level > 0);
        let figures = observe(&load.longer(4), &self.cluster.processes(), &mut taker, watchers).await?;
        taker.session.close().await?;
        Ok(figures)
    }
}

struct Taker {
    session: Session,
    name: String,
    guard: Option<Guard>,
}

impl Changer for Taker {
    async fn acquire(&mut self) -> anyhow::Result<()> {
        match self.session.lock(self.name.as_str()).try_acquire().await? {
            Attempt::Acquired(guard) => self.guard = Some(guard),
            Attempt::Busy(busy) => bail!("{} is not free: {busy:?}", self.name),
        }
        Ok(())
    }

    async fn release(&mut self) -> anyhow::Result<()> {
        Ok(self.guard.take().context("it is not held")?.release().await?)
    }
}
