//! Acquires many locks, fast.

use std::time::{Duration, Instant};

use futures::future::try_join_all;

use crate::target::CONNECTIONS;
use crate::target::tenure::Cluster;
use crate::target::tenure::raw::{self, Raw};

/// The number of sessions that hold them.
const SESSIONS: usize = 1_000;

/// The most commands in one message.
const COMMANDS: usize = 1_000;

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
    let stream = raw.begin();
    let own: Vec<usize> = (connection..SESSIONS).step_by(CONNECTIONS).collect();
    let open: Result<Vec<_>, _> = own.iter().map(|number| raw::open_session(&session(*number), TTL)).collect();
    raw.execute([(stream, open?)]).await?;
    let own = own.into_iter().flat_map(|number| (number..locks).step_by(SESSIONS).map(move |lock| (number, lock)));
    let own: Vec<(usize, usize)> = own.collect();
    for part in own.chunks(COMMANDS) {
        let acquire = part.iter().map(|(number, lock)| raw::acquire(&session(*number), format!("held-lock-{lock}")));
        raw.execute([(stream, acquire.collect())]).await?;
    }
    Ok(raw)
}

fn session(number: usize) -> String {
    format!("holder-{number}")
}
