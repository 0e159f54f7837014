//! Runs the real server on a simulated host.

use std::sync::Arc;
use std::time::Duration;

use tenure_server::cluster::clock::BootClock;
use tenure_server::grpc::TtlBounds;
use tenure_server::node::NodeOptions;
use tenure_server::server::lifecycle::{Environment, ServerParts, Shutdown};
use tenure_server::store::{MemoryDatabase, Store};
use tenure_server::telemetry::metrics::Metrics;
use tokio::sync::Notify;

use crate::defect::store::FaultyStore;
use crate::host::HostContext;
use crate::outbox::{Route, Sent};
use crate::store::SimStore;
use crate::wire::{Dialler, address};
use crate::world::World;

/// Server lease.
pub const LEASE: Duration = Duration::from_secs(2);

/// Reattach time: an unattended claim is cancelled after this long.
pub const REATTACH: Duration = Duration::from_secs(2);

/// Runs a server until it shuts down.
pub async fn run(context: HostContext, hinted: Arc<Notify>, database: MemoryDatabase) {
    let shutdown = Shutdown::default();
    let store = SimStore::new(context.clone(), hinted);
    let store: Arc<dyn Store> = match context.defect {
        None => Arc::new(store),
        Some(defect) => Arc::new(FaultyStore::new(store, defect, database, context.clone())),
    };
    let node = NodeOptions {
        lease: LEASE,
        label: format!("server-{}", context.host),
        address: address(context.host),
        certificate: String::new(),
        reattach: REATTACH,
        poll_interval: Duration::from_millis(100),
        max_namespaces: 4,
        history_retention: Duration::from_secs(3_600),
        history_max_bytes: 1 << 30,
    };
    let ttl = TtlBounds { min: Duration::from_millis(200), max: Duration::from_secs(3_600) };
    let environment = Environment {
        clock: Arc::new(BootClock),
        connector: Some(Arc::new(Dialler::new(context.clone()))),
        metrics: Metrics::default(),
    };
    let parts = ServerParts::on(store, ttl, node, environment, &shutdown).await.expect("a server");
    let (outbox, host, at, owner) = (context.outbox.clone(), context.host, context.time.now(), context.clone());
    let serve = move |world: &mut World| world.register_services(owner, parts.routes);
    outbox.send(Sent { at, from: host, route: Route::Host(host), action: Box::new(serve) });
    parts.life.await;
}
