//! Gauges of the node's state, computed when they are scraped.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use crate::telemetry::metrics::MetricSet;

use crate::node::Node;
use crate::sequencer::Namespace;

/// The node whose state is exported.
#[derive(Clone, Default)]
pub(crate) struct State(Arc<Shared>);

#[derive(Default)]
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

    /// Sets whether the server is ready.
    pub(crate) fn set_ready(&self, is_ready: bool) {
        self.0.is_ready.store(is_ready, Ordering::Relaxed);
    }

    fn node(&self) -> Option<Arc<Node>> {
        self.0.node.lock().unwrap_or_else(PoisonError::into_inner).upgrade()
    }
}

impl fmt::Debug for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("State")
    }
}

/// Totals over all namespaces.
#[derive(Default)]
struct Figures {
    namespaces: usize,
    sessions: usize,
    locks: usize,
    holds: usize,
    waiters: usize,
    groups: usize,
    members: usize,
    at_home: usize,
    queue_depth: usize,
    watchers: usize,
    watch_lag: Duration,
    servers: usize,
    lease_left: f64,
}

impl Figures {
    fn of(node: &Node) -> Self {
        let left = node.lease().left().map_or(f64::INFINITY, |left| left.as_secs_f64());
        let servers = node.membership().count() + 1;
        let mut figures = Self { lease_left: left, servers, ..Self::default() };
        node.namespaces().all().iter().for_each(|namespace| figures.add(namespace));
        figures
    }

    fn add(&mut self, namespace: &Namespace) {
        let (totals, watchers) = (namespace.totals(), namespace.hub().watchers());
        self.namespaces += 1;
        self.sessions += totals.sessions;
        self.locks += totals.locks;
        self.holds += totals.holds;
        self.waiters += totals.waiters;
        self.groups += totals.groups;
        self.members += totals.members;
        self.at_home += namespace.session_count();
        self.queue_depth += namespace.queue_depth();
        self.watchers += watchers.count;
        self.watch_lag = self.watch_lag.max(watchers.lag);
    }
}

impl Collector for State {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        // Without a node, all values are zero, and so is the lease.
        let now = self.node().map_or_else(Figures::default, |node| Figures::of(&node));
        let mut gauge = |name: &str, help: &str, value: f64| {
            encoder.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&value)
        };
        // Counts are small enough to be exact as floats.
        let ready = if self.0.is_ready.load(Ordering::Relaxed) { 1.0 } else { 0.0 };
        gauge("ready", "1 if this server is ready, as on /readyz, otherwise 0.", ready)?;
        let help = "Seconds for which this server may acknowledge renewals without another heartbeat. +Inf with SQLite, \
            where no other server can take over.";
        gauge("lease_left_seconds", help, now.lease_left)?;
        let help = "Live servers, including this one, as of its last heartbeat. The same at every server.";
        gauge("servers", help, now.servers as f64)?;
        gauge("namespaces", "Namespaces. The same at every server.", now.namespaces as f64)?;
        gauge("sessions", "Open sessions. The same at every server.", now.sessions as f64)?;
        let help = "Open sessions whose home is this server.";
        gauge("sessions_at_home", help, now.at_home as f64)?;
        let help = "Locks that are held, or whose last hold's min_hold has not passed. The same at every server.";
        gauge("locks_held", help, now.locks as f64)?;
        let help = "Held claims. Several may share a lock, and one may hold several locks. The same at every server.";
        gauge("holds", help, now.holds as f64)?;
        gauge("waiters", "Waiting claims. The same at every server.", now.waiters as f64)?;
        gauge("groups", "Groups. The same at every server.", now.groups as f64)?;
        gauge("group_members", "Group members. The same at every server.", now.members as f64)?;
        let help = "Commands that wait for a decision at this server. New ones are rejected at 16,384 in a namespace.";
        gauge("queue_depth", help, now.queue_depth as f64)?;
        gauge("watchers", "Watches at this server.", now.watchers as f64)?;
        let help = "Lag of the slowest watcher at this server, in seconds.";
        gauge("watch_lag_seconds", help, now.watch_lag.as_secs_f64())
    }
}
