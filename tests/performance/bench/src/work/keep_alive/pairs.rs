//! The effect of keep-alives on clients that acquire locks. Both share two cores with their clients and the database,
//! so the keep-alives have a rate that is high but fixed: at full speed they would only show that the cores are shared.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::try_join_all;
use tenure_client::Client;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::flood::Renewals;
use super::tenure::{Opened, close, open};
use crate::lab::Lab;
use crate::measure::{Figures, Load, closed_loop};
use crate::target::CONNECTIONS;
use crate::target::store::Store;
use crate::target::tenure::{Cluster, PairUser};
use crate::work::{Candidate, Subject};

/// The number of clients that acquire locks.
const CLIENTS: usize = 4;

/// Each connection sends this many renewals at once, in this interval, staggered over the connections: 10,000 per
/// second in total.
const AT_ONCE: usize = 10;
const EVERY: Duration = Duration::from_millis(CONNECTIONS as u64);

/// The target without keep-alives.
pub fn alone() -> Candidate {
    Candidate::new("tenure-pairs-alone-postgres", async |lab: Arc<Lab>| Ok(Pairs::new(&lab, false).await?))
}

/// The target beside keep-alives.
pub fn beside() -> Candidate {
    Candidate::new("tenure-pairs-beside-postgres", async |lab: Arc<Lab>| Ok(Pairs::new(&lab, true).await?))
}

struct Pairs {
    cluster: Arc<Cluster>,
    clients: Vec<Client>,
    with_renewals: bool,
}

impl Pairs {
    async fn new(lab: &Lab, with_renewals: bool) -> anyhow::Result<Self> {
        let cluster = lab.cluster(Store::Postgres, 1).await?;
        Ok(Self { clients: cluster.clients()?, cluster, with_renewals })
    }
}

#[async_trait]
impl Subject for Pairs {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        // Both variants do everything but the renewals.
        let Opened { all, sessions } = open(&self.cluster, load).await?;
        let users = self.clients.iter().take(CLIENTS).enumerate();
        let users = users.map(|(number, client)| PairUser::open(client, format!("beside-{}-{number}", load.number)));
        let users = try_join_all(users).await?;
        let mut renewing = JoinSet::new();
        for (index, renewals) in all.into_iter().enumerate() {
            if self.with_renewals {
                renewing.spawn(renew(renewals, Duration::from_millis(index as u64)));
            }
        }
        let (figures, users) = closed_loop(&load.longer(4), &self.cluster.processes(), users).await?;
        // These tasks end only by a failure.
        if let Some(ended) = renewing.try_join_next() {
            ended??;
        }
        drop(renewing);
        try_join_all(users.iter().map(PairUser::close)).await?;
        close(&self.cluster, sessions).await?;
        Ok(figures)
    }
}

/// Renews at the given rate, until the future is dropped.
async fn renew(renewals: Renewals, after: Duration) -> anyhow::Result<()> {
    let Renewals { mut connection, streams, check } = renewals;
    let mut next = streams.iter().cycle();
    let mut tick = interval_at(Instant::now() + after, EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Burst);
    loop {
        tokio::select! {
            _ = tick.tick() => {
                for (stream, message) in next.by_ref().take(AT_ONCE) {
                    connection.output().message(*stream, message);
                }
            }
            received = connection.receive(|_, message, _| check(message)) => received?,
        }
    }
}
