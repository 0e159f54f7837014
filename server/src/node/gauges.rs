//! Gauges of the node's state, computed when they are scraped.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use tenure_core::Totals;

use crate::node::Node;
use crate::sequencer::Namespace;
use crate::telemetry::metrics::MetricSet;
use crate::watch::Watchers;

/// The node whose state is exported.
#[derive(Clone, Debug, Default)]
pub(crate) struct State(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Empty between two nodes, and before the first one.
    node: Mutex<Weak<Node>>,
    is_ready: AtomicBool,
}

impl MetricSet for State {
    fn register(&self, registry: &mut Registry) {
        registry.register_collector(Box::new(self.clone()));
    }
}

impl State {
    /// Switches to this node, for as long as it exists.
    pub(crate) fn is_of(&self, node: &Arc<Node>) {
        *self.0.node.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(node);
    }

    pub(crate) fn set_ready(&self, is_ready: bool) {
        self.0.is_ready.store(is_ready, Ordering::Relaxed);
    }

    fn node(&self) -> Option<Arc<Node>> {
        self.0.node.lock().unwrap_or_else(PoisonError::into_inner).upgrade()
    }
}

impl Collector for State {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        // Without a node, all values are zero, and so is the lease.
        let node = self.node();
        let namespaces = node.as_ref().map(|node| node.namespaces.all()).unwrap_or_default();
        let lease_left = node.as_ref().map_or(Some(Duration::ZERO), |node| node.lease.left());
        let servers = node.as_ref().map_or(0, |node| node.membership.count() + 1);
        let watchers: Vec<Watchers> = namespaces.iter().map(|namespace| namespace.hub().watchers()).collect();
        let watch_lag = watchers.iter().map(|watchers| watchers.lag).max().unwrap_or_default();
        let totals: Vec<Totals> = namespaces.iter().map(Namespace::totals).collect();
        // Counts are small enough to be exact as floats.
        let total = |count: fn(&Totals) -> usize| totals.iter().map(count).sum::<usize>() as f64;
        let sum = |count: fn(&Namespace) -> usize| namespaces.iter().map(count).sum::<usize>() as f64;
        let mut gauge = |name: &str, help: &str, value: f64| {
            encoder.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&value)
        };
        let ready = if self.0.is_ready.load(Ordering::Relaxed) { 1.0 } else { 0.0 };
        gauge("ready", "1 if this server is ready, as on /readyz, otherwise 0.", ready)?;
        let help = "Seconds for which this server may acknowledge renewals without another heartbeat. +Inf with SQLite, \
            where no other server can take over.";
        gauge("lease_left_seconds", help, lease_left.map_or(f64::INFINITY, |left| left.as_secs_f64()))?;
        let help = "Live servers, including this one, as of its last heartbeat. The same at every server.";
        gauge("servers", help, servers as f64)?;
        gauge("namespaces", "Namespaces. The same at every server.", namespaces.len() as f64)?;
        gauge("sessions", "Open sessions. The same at every server.", total(|totals| totals.sessions))?;
        let help = "Open sessions whose home is this server.";
        gauge("sessions_at_home", help, sum(Namespace::session_count))?;
        let help = "Locks that are held, or whose last hold's min_hold has not passed. The same at every server.";
        gauge("locks_held", help, total(|totals| totals.locks))?;
        let help = "Held claims. Several may share a lock, and one may hold several locks. The same at every server.";
        gauge("holds", help, total(|totals| totals.holds))?;
        gauge("waiters", "Waiting claims. The same at every server.", total(|totals| totals.waiters))?;
        gauge("groups", "Groups. The same at every server.", total(|totals| totals.groups))?;
        gauge("group_members", "Group members. The same at every server.", total(|totals| totals.members))?;
        let help = "Commands that wait for a decision at this server. New ones are rejected at 16,384 in a namespace.";
        gauge("queue_depth", help, sum(Namespace::queue_depth))?;
        gauge(
            "watchers",
            "Watches at this server.",
            watchers.iter().map(|watchers| watchers.count).sum::<usize>() as f64,
        )?;
        let help = "Lag of the slowest watcher at this server, in seconds.";
        gauge("watch_lag_seconds", help, watch_lag.as_secs_f64())
    }
}
