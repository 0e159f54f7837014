//! The time from starting a server until it answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use async_trait::async_trait;
use tenure_harness::{Tenured, TenuredOptions};
use tonic::transport::Endpoint;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::lab::Lab;
use crate::measure::{Figures, Latency, Load};
use crate::target::start_now;
use crate::target::store::Store;
use crate::work::{Bound, Candidate, Goal, Levels, Subject, Work};

/// The work.
pub fn work() -> Work {
    Work {
        name: "start",
        title: "A server is started on an empty database, whose tables it has to make. One turn lasts from when its process is \
                started until it says that it serves.",
        level: "server",
        levels: Levels::Own { full: &[1], quick: &[1] },
        candidates: vec![candidate(Store::Sqlite), candidate(Store::Postgres)],
        goals: vec![Goal::new("start, SQLite: p50 in ms", Bound::AtMost(100.0), |round| round.p50("tenure-sqlite", 1))],
    }
}

/// The number of starts.
const TIMES: usize = 10;

/// The limit of a start.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The interval of the readiness checks.
const PAUSE: Duration = Duration::from_millis(1);

fn candidate(store: Store) -> Candidate {
    Candidate::new(format!("tenure-{}", store.name()), async move |lab| Ok(Starts { lab, store }))
}

struct Starts {
    lab: Arc<Lab>,
    store: Store,
}

#[async_trait]
impl Subject for Starts {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        let mut times = Vec::new();
        let (lab, store) = (&self.lab, self.store);
        start_now(async {
            // Starts the database itself beforehand.
            store.fresh(lab).await?;
            for _ in 0..if load.quick { 1 } else { TIMES } {
                let database = store.fresh(lab).await?;
                times.push(start(&database.url.map_or_else(TenuredOptions::default, TenuredOptions::store)).await?);
            }
            anyhow::Ok(())
        })?;
        Ok(Figures { latency: Latency::of(times), ..Figures::default() })
    }
}

async fn start(options: &TenuredOptions) -> anyhow::Result<Duration> {
    let mut server = Tenured::prepare(options)?;
    let url = server.url();
    let start = Instant::now();
    let serves = async {
        while !serves(&url).await {
            tokio::time::sleep(PAUSE).await;
        }
        anyhow::Ok(start.elapsed())
    };
    let serves = async { tokio::time::timeout(TIMEOUT, serves).await.context("it does not serve")? };
    let (took, ()) = tokio::try_join!(serves, server.start_again())?;
    Ok(took)
}

async fn serves(url: &str) -> bool {
    let Ok(endpoint) = Endpoint::from_shared(url.to_string()) else { return false };
    let Ok(channel) = endpoint.connect().await else { return false };
    let answer = HealthClient::new(channel).check(HealthCheckRequest::default()).await;
    answer.is_ok_and(|answer| answer.into_inner().status() == ServingStatus::Serving)
}
