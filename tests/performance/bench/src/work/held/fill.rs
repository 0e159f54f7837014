//! Acquires many locks, fast.

use std::time::{Duration, Instant};

use futures::future::try_join_all;
use tenure_proto::v1::Declaration;

use crate::target::CONNECTIONS;
use crate::target::tenure::Cluster;
use crate::target::tenure::raw::{CHANGES, Raw};

/// The number of sessions that hold them.
const SESSIONS: usize = 1_000;

/// Longer than the whole work, as these sessions are not renewed.
const TTL: Duration = Duration::from_secs(6 * 3600);

/// Acquires this number of locks. Returns the rate per second, and the connections, which can be closed.
pub async fn fill(cluster: &Cluster, locks: usize) -> anyhow::Result<(f64, Vec<Raw>)> {
    let start = Instant::now();
    let connections = (0..CONNECTIONS).map(|connection| fill_one(cluster, connection, locks));
    let connections = try_join_all(connections).await?;
    Ok((locks as f64 / start.elapsed().as_secs_f64(), connections))
}

/// One connection's share of the sessions and locks.
async fn fill_one(cluster: &Cluster, connection: usize, locks: usize) -> anyhow::Result<Raw> {
    let mut raw = Raw::open(cluster.port()?).await?;
    let stream = raw.begin(&format!("client-of-holders-{connection}"));
    let (mut sessions, mut own) = (Vec::new(), Vec::new());
    for holder in (connection..SESSIONS).step_by(CONNECTIONS) {
        let declaration = raw.session(&format!("holder-{holder}"), TTL, None)?;
        own.extend((holder..locks).step_by(SESSIONS).map(|lock| (declaration.session, lock)));
        sessions.push(declaration);
    }
    raw.declare([(stream, sessions)]).await?;
    for part in own.chunks(CHANGES) {
        let mut claims = Vec::new();
        for (session, lock) in part {
            let claim = raw.claim(format!("held-lock-{lock}"));
            claims.push(Declaration { session: *session, claims: vec![claim], ..Declaration::default() });
        }
        raw.declare([(stream, claims)]).await?;
    }
    Ok(raw)
}
