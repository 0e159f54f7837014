//! Marks servers dead whose heartbeat has been silent for a full lease, and adopts their sessions.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{Command, Rejection, ServerId};
use tokio::time::Instant;

use crate::node::Node;
use crate::node::heartbeat::{HeartbeatReport, HeartbeatReports};
use crate::telemetry::log_throttle::LogThrottle;

/// The pause before a failed adoption is retried.
const RETRY: Duration = Duration::from_millis(100);

const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Acts on each report that a heartbeat yields.
pub(crate) async fn run(node: Arc<Node>, mut heartbeats: HeartbeatReports) {
    let (mut marking_dead, mut adopting) = (LogThrottle::every(LOG_INTERVAL), LogThrottle::every(LOG_INTERVAL));
    heartbeats.reports.mark_changed();
    while heartbeats.reports.changed().await.is_ok() {
        let report = heartbeats.reports.borrow_and_update().clone();
        mark_dead(&node, &report, &mut marking_dead).await;
        if let Err(error) = adopt(&node, &report, &mut heartbeats).await {
            if adopting.on_error(Instant::now()) {
                tracing::warn!(%error, "cannot adopt the sessions of dead servers");
            }
            tokio::time::sleep(RETRY).await;
            heartbeats.reports.mark_changed();
        } else if adopting.on_recovery() {
            tracing::info!("sessions of dead servers can be adopted again");
        }
    }
}

async fn mark_dead(node: &Node, report: &HeartbeatReport, throttle: &mut LogThrottle) {
    for &(server, heartbeat) in &report.silent {
        match node.store.mark_dead(server, heartbeat).await {
            Ok(dead) => {
                throttle.on_recovery();
                tracing::info!(%server, dead, "no heartbeat of a server for its lease");
            }
            Err(error) if throttle.on_error(Instant::now()) => {
                tracing::warn!(%error, %server, "cannot mark a silent server dead");
            }
            Err(_) => {}
        }
    }
}

async fn adopt(node: &Node, report: &HeartbeatReport, heartbeats: &mut HeartbeatReports) -> Result<(), Rejection> {
    let asked = node.lease.now();
    let mut homes = BTreeSet::new();
    for namespace in node.namespaces.all() {
        homes.extend(namespace.read(|table| table.servers().collect::<Vec<_>>()).await?);
    }
    if report.silent.is_empty()
        && report.servers.iter().all(|server| !server.dead)
        && homes.iter().all(|home| report.lives(*home))
    {
        return Ok(());
    }
    // Live servers are read after the homes, so that a server that has just started is not mistaken for a dead one.
    let report = heartbeats.since(asked).await;
    let orphaning: Vec<ServerId> = homes.into_iter().filter(|home| !report.lives(*home)).collect();
    if !orphaning.is_empty() {
        tracing::info!(servers = ?orphaning, "adopting the sessions of dead servers");
        for namespace in node.namespaces.all() {
            for &dead in &orphaning {
                namespace.decide(Command::Adopt { dead, by: node.id }).await?;
            }
        }
    }
    let dead: Vec<ServerId> = report.servers.iter().filter(|other| other.dead).map(|other| other.server).collect();
    if !dead.is_empty()
        && let Err(error) = node.store.forget(&dead).await
    {
        tracing::debug!(%error, "cannot remove dead servers yet");
    }
    Ok(())
}
