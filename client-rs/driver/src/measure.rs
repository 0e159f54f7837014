//! Times of acquires and releases, beside those of plain calls.

use std::time::{Duration, Instant};

use futures::future::{join_all, try_join_all};
use serde_json::json;
use tenure_client::Session;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::answer::{Answer, Failure};

/// Acquires a lock and releases it, and makes an empty call, so many times.
pub(crate) async fn measure(session: &Session, endpoint: String, turns: usize) -> Answer {
    let endpoint = tonic::transport::Endpoint::from_shared(endpoint).map_err(driver)?;
    let mut health = HealthClient::new(endpoint.connect().await.map_err(driver)?);
    let (mut pairs, mut calls) = (Vec::new(), Vec::new());
    for _ in 0..turns {
        let start = Instant::now();
        session.lock("measured").acquire().await?.release().await?;
        pairs.push(us(start.elapsed()));
        let start = Instant::now();
        health.check(HealthCheckRequest::default()).await.map_err(driver)?;
        calls.push(us(start.elapsed()));
    }
    Ok(json!({"pairs_us": pairs, "calls_us": calls}))
}

/// Holds so many locks at the same time.
pub(crate) async fn hold_many(session: &Session, count: usize) -> Answer {
    let start = Instant::now();
    let guards = try_join_all((0..count).map(|number| session.lock(format!("many-{number}")).acquire())).await?;
    let held = us(start.elapsed());
    let start = Instant::now();
    join_all(guards.into_iter().map(tenure_client::Guard::release)).await.into_iter().collect::<Result<(), _>>()?;
    Ok(json!({"held_us": held, "released_us": us(start.elapsed())}))
}

fn us(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn driver(error: impl std::fmt::Display) -> Failure {
    Failure::Driver(error.to_string())
}
