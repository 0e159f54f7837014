//! Servers as they are, one node after another, but for their transport: how they begin, end, and start over.

#[path = "life/being.rs"]
mod being;
mod lab;

use being::Being;
use lab::{LEASE, Server, eventually, pass, within};
use tenure_server::store::MemoryDatabase;

/// A database from which nothing is loaded within a lease.
async fn slow_to_load() -> MemoryDatabase {
    let database = MemoryDatabase::new();
    let before = Server::start(&database).await;
    before.hold("ann", "a").await;
    before.kill();
    database.set_load_delay(LEASE * 2);
    database
}

#[tokio::test(start_paused = true)]
async fn a_server_that_loads_for_longer_than_a_lease_joins_others() {
    let database = MemoryDatabase::new();
    let first = Being::start(&database).await;
    first.ready(LEASE).await;
    first.hold("ann", "a").await;
    database.set_load_delay(LEASE * 2);
    let second = Being::start(&database).await;
    second.ready(LEASE * 3).await;
    assert!(first.is_ready(), "and it bears the others no grudge");
    assert_eq!(database.servers().len(), 2, "it was never taken for dead");
}

#[tokio::test(start_paused = true)]
async fn servers_that_load_for_longer_than_a_lease_all_get_up() {
    let database = slow_to_load().await;
    let one = Being::start(&database).await;
    pass(LEASE * 3 / 2).await;
    let two = Being::start(&database).await;
    one.ready(LEASE).await;
    two.ready(LEASE * 2).await;
    eventually(LEASE * 2, "the one before is buried", async || database.servers().len() == 2).await;
    assert!(one.is_ready() && two.is_ready());
}

/// Under its old id it would find itself dead for ever.
#[tokio::test(start_paused = true)]
async fn a_server_marked_dead_while_it_loads_starts_over_as_a_new_one() {
    let database = MemoryDatabase::new();
    let first = Being::start(&database).await;
    first.ready(LEASE).await;
    first.hold("ann", "a").await;
    database.set_load_delay(LEASE / 2);
    let second = Being::start(&database).await;
    pass(LEASE / 4).await;
    let before: Vec<_> = database.servers().iter().map(|server| server.server).collect();
    assert_eq!(before.len(), 2, "it has registered");
    second.store.set_connected(false);
    eventually(LEASE * 2, "it is buried", async || database.servers().len() == 1).await;
    second.store.set_connected(true);
    second.ready(LEASE).await;
    let servers = database.servers();
    assert_eq!(servers.iter().filter(|server| !before.contains(&server.server)).count(), 1, "{servers:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_to_stop_ends_whatever_it_is_at() {
    let database = MemoryDatabase::new();
    let away = Being::start(&database).await;
    away.store.set_connected(false);
    let loading = {
        let before = Server::start(&database).await;
        before.hold("ann", "a").await;
        before.kill();
        database.set_load_delay(LEASE * 2);
        Being::start(&database).await
    };
    pass(LEASE / 4).await;
    for being in [away, loading] {
        being.ends.stop.cancel();
        within(LEASE / 10, being.living).await.expect("ended");
    }
}
