//! Sends this server's heartbeats and observes those of other servers.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tenure_core::ServerId;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::metrics::NodeCounts;
use crate::cluster::membership::KnownServers;
use crate::node::{Node, NodeOptions};
use crate::sequencer::Namespace;
use crate::store::{ServerRecord, StoreError, next_heartbeat};
use crate::telemetry::log_throttle::LogThrottle;

const HEARTBEATS_PER_LEASE: u32 = 20;

/// The pause before a failed heartbeat is retried.
const RETRY: Duration = Duration::from_millis(200);

/// The interval at which failed heartbeats are logged.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Why a node has stopped sending heartbeats.
#[derive(Debug, PartialEq, Eq)]
pub enum HeartbeatsEnd {
    /// Another server has marked it dead: the server must restart under another id.
    MarkedDead,
    /// The node has ended, and no heartbeat is in flight.
    NodeEnded,
}

/// All servers, as of one heartbeat.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeartbeatReport {
    /// When the heartbeat was sent, on this server's clock.
    pub(crate) sent: Duration,
    /// Every server's record.
    pub(crate) servers: Vec<ServerRecord>,
    /// Servers whose heartbeat has not changed for a full lease, with that heartbeat.
    pub(crate) silent: Vec<(ServerId, u64)>,
}

impl HeartbeatReport {
    /// Whether a server is registered and not dead.
    pub(crate) fn lives(&self, server: ServerId) -> bool {
        self.servers.iter().any(|other| other.server == server && !other.dead)
    }
}

/// A view of a node's heartbeats for tasks other than the sender.
pub(crate) struct HeartbeatReports {
    pub(super) reports: watch::Receiver<HeartbeatReport>,
    hurry: Arc<Notify>,
}

impl HeartbeatReports {
    /// Requests a heartbeat immediately, and waits for the report of one that was sent at this time or later. Never
    /// returns if no further heartbeats are sent.
    pub(crate) async fn since(&mut self, asked: Duration) -> HeartbeatReport {
        self.hurry.notify_one();
        let report = self.reports.wait_for(|report| report.sent >= asked).await.map(|report| report.clone());
        match report {
            Ok(report) => report,
            Err(_) => std::future::pending().await,
        }
    }
}

/// The observed heartbeat of another server.
struct LastHeartbeat {
    heartbeat: u64,
    since: Duration,
    lease: Duration,
}

/// Sends the heartbeats of one node. Only the store's reply to a heartbeat delays them.
pub struct Heartbeats {
    node: Arc<Node>,
    last_heartbeats: HashMap<ServerId, LastHeartbeat>,
    report: watch::Sender<HeartbeatReport>,
    hurry: Arc<Notify>,
    /// When the next heartbeat is or was due.
    due: Instant,
    counts: NodeCounts,
    throttle: LogThrottle,
}

/// How long a server may answer renewals after it sent a heartbeat: less than other servers wait, by more than the
/// difference of clock rates.
fn validity(lease: Duration) -> Duration {
    lease * 90 / 100
}

/// How long a heartbeat must remain unchanged before its server is marked dead. The rest of the lease is for observing
/// the heartbeat and for adopting.
fn patience(lease: Duration) -> Duration {
    lease * 92 / 100
}

impl Heartbeats {
    /// Registers the node with its first heartbeat.
    ///
    /// # Errors
    /// If the store does not accept it.
    pub async fn begin(node: Arc<Node>) -> Result<Self, StoreError> {
        let report = watch::channel(HeartbeatReport::default()).0;
        let due = Instant::now();
        let (last_heartbeats, hurry) = (HashMap::new(), Arc::default());
        let (counts, throttle) = (node.metrics.of(), LogThrottle::every(LOG_INTERVAL));
        let mut heartbeats = Self { node, last_heartbeats, report, hurry, due, counts, throttle };
        if heartbeats.heartbeat_once().await? {
            Ok(heartbeats)
        } else {
            Err(StoreError::Unavailable("the store did not accept the first heartbeat".to_owned()))
        }
    }

    pub(crate) fn reports(&self) -> HeartbeatReports {
        HeartbeatReports { reports: self.report.subscribe(), hurry: self.hurry.clone() }
    }

    /// Sends heartbeats during other work that may take longer than a lease.
    ///
    /// # Errors
    /// If the node stops sending heartbeats; the work is then incomplete.
    pub async fn during<T>(&mut self, work: impl Future<Output = T>) -> Result<T, HeartbeatsEnd> {
        let pause = self.next_heartbeat();
        self.due = Instant::now() + pause;
        tokio::select! {
            biased;
            done = work => Ok(done),
            end = async {
                tokio::time::sleep(pause).await;
                self.keep_up().await
            } => Err(end),
        }
    }

    /// Sends heartbeats while the node runs; its adoption task marks silent servers dead and adopts their sessions.
    pub async fn run(mut self) -> HeartbeatsEnd {
        self.node.tasks.spawn(crate::node::adoption::run(self.node.clone(), self.reports()));
        self.keep_up().await
    }

    async fn keep_up(&mut self) -> HeartbeatsEnd {
        let node = self.node.clone();
        loop {
            let pause = match self.heartbeat_once().await {
                Ok(true) => {
                    if self.throttle.on_recovery() {
                        tracing::info!("heartbeats succeed again");
                    }
                    let pause = self.next_heartbeat();
                    self.due = Instant::now() + pause;
                    pause
                }
                Ok(false) => {
                    self.counts.marked_dead.inc();
                    node.lease.revoke();
                    return HeartbeatsEnd::MarkedDead;
                }
                Err(error) => {
                    self.counts.failures.inc();
                    if self.throttle.on_error(Instant::now()) {
                        tracing::warn!(%error, lease_left = ?node.lease.left(), "a heartbeat failed");
                    }
                    RETRY
                }
            };
            tokio::select! {
                // No heartbeat begins after the end, even if requested: it might be in flight when the server is marked
                // dead.
                biased;
                () = node.cancel.cancelled() => return HeartbeatsEnd::NodeEnded,
                () = tokio::time::sleep(pause) => {}
                () = self.hurry.notified() => self.due = self.due.min(Instant::now()),
            }
        }
    }

    /// Sends one heartbeat. False: this server was marked dead.
    async fn heartbeat_once(&mut self) -> Result<bool, StoreError> {
        let node = self.node.clone();
        let (sent, begun) = (node.lease.now(), Instant::now());
        // Only this method changes it.
        let heartbeat = next_heartbeat(node.heartbeat.load(Ordering::Acquire), node.drains.load(Ordering::Relaxed));
        node.heartbeat.store(heartbeat, Ordering::Release);
        let NodeOptions { lease, label, address, certificate, .. } = node.options.clone();
        let record = ServerRecord { server: node.id, heartbeat, lease, label, address, certificate, dead: false };
        let servers = node.store.heartbeat(&record).await?;
        let took = node.lease.now().saturating_sub(sent);
        let mut report = HeartbeatReport { sent, servers, silent: Vec::new() };
        if !report.lives(node.id) {
            return Ok(false);
        }
        self.counts.heartbeats.took(begun.elapsed());
        self.counts.lateness.took(self.due.elapsed());
        if node.store.exclusive() {
            node.lease.hold_for_ever();
        } else if node.lease.extend(sent, validity(lease)) {
            node.namespaces.all().iter().for_each(Namespace::refresh);
        }
        report.silent = self.observe(&report.servers);
        node.membership.note(self.known_servers(&report, took));
        self.report.send_replace(report);
        Ok(true)
    }

    /// Records the heartbeats of other servers. Returns those that have been silent for a full lease.
    fn observe(&mut self, servers: &[ServerRecord]) -> Vec<(ServerId, u64)> {
        let now = self.node.lease.now();
        let mut silent = Vec::new();
        self.last_heartbeats.retain(|server, _| servers.iter().any(|other| other.server == *server && !other.dead));
        for other in servers.iter().filter(|other| other.server != self.node.id && !other.dead) {
            let fresh = || LastHeartbeat { heartbeat: other.heartbeat, since: now, lease: other.lease };
            let last = self.last_heartbeats.entry(other.server).or_insert_with(fresh);
            if last.heartbeat != other.heartbeat {
                *last = fresh();
            } else if now.saturating_sub(last.since) >= patience(last.lease) {
                silent.push((other.server, other.heartbeat));
            }
        }
        silent
    }

    /// The public part of a heartbeat's result.
    fn known_servers(&self, report: &HeartbeatReport, took: Duration) -> KnownServers {
        let seen = |server: &ServerRecord| match self.last_heartbeats.get(&server.server) {
            Some(seen) => Some(seen.since),
            None => (server.server == self.node.id).then_some(report.sent),
        };
        let servers = report.servers.iter().map(|server| (server.clone(), seen(server))).collect();
        KnownServers { me: self.node.id, took, servers }
    }

    /// The pause before the next heartbeat: short enough for this server's lease, and ending when a silent server's
    /// patience ends.
    fn next_heartbeat(&self) -> Duration {
        let lease = self.node.options.lease;
        if self.node.store.exclusive() {
            return lease;
        }
        let now = self.node.lease.now();
        let ends = self.last_heartbeats.values().map(|seen| (seen.since + patience(seen.lease)).saturating_sub(now));
        // Servers silent for longer have been reported, and are again with each regular heartbeat.
        let ends = ends.filter(|end| !end.is_zero()).min();
        ends.unwrap_or(lease).min(lease / HEARTBEATS_PER_LEASE)
    }
}
