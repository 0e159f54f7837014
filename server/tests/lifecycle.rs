//! Server nodes without their transport: how they start, end and restart.

mod running_server;
mod warnings;

use crate::lab;

use futures::StreamExt;
use lab::{LEASE, Server, TTL, eventually, pass, within};
use running_server::{RunningServer, reason};
use tenure_proto::v1;
use tenure_proto::v1::state::Kind as State;
use tenure_server::store::{Fault, MemoryDatabase};
use tonic_types::StatusExt;
use warnings::Warnings;

/// A database that takes longer than a lease to load.
async fn slow_to_load() -> MemoryDatabase {
    let (database, before) = Server::with_database().await;
    before.hold("ann", "a").await;
    before.kill();
    database.set_load_delay(LEASE * 2);
    database
}

#[tokio::test(start_paused = true)]
async fn server_that_loads_for_longer_than_a_lease_is_not_marked_dead() {
    let database = MemoryDatabase::new();
    let first = RunningServer::start(&database).await;
    first.ready(LEASE).await;
    first.hold("ann", "a").await;
    database.set_load_delay(LEASE * 2);
    let second = RunningServer::start(&database).await;
    second.ready(LEASE * 3).await;
    assert!(first.is_ready(), "the first server is not affected");
    assert_eq!(database.servers().len(), 2, "it was never marked dead");
}

#[tokio::test(start_paused = true)]
async fn servers_that_load_for_longer_than_a_lease_all_become_ready() {
    let database = slow_to_load().await;
    let one = RunningServer::start(&database).await;
    pass(LEASE * 3 / 2).await;
    let two = RunningServer::start(&database).await;
    one.ready(LEASE).await;
    two.ready(LEASE * 2).await;
    eventually(LEASE * 2, "the previous server is removed", async || database.servers().len() == 2).await;
    assert!(one.is_ready() && two.is_ready());
}

/// With its old id, it would find itself marked dead at every start.
#[tokio::test(start_paused = true)]
async fn server_marked_dead_while_it_loads_restarts_with_a_new_id() {
    let database = MemoryDatabase::new();
    let first = RunningServer::start(&database).await;
    first.ready(LEASE).await;
    first.hold("ann", "a").await;
    database.set_load_delay(LEASE / 2);
    let second = RunningServer::start(&database).await;
    pass(LEASE / 4).await;
    let before: Vec<_> = database.servers().iter().map(|server| server.server).collect();
    assert_eq!(before.len(), 2, "it has registered");
    second.store.set_connected(false);
    eventually(LEASE * 2, "it is removed", async || database.servers().len() == 1).await;
    second.store.set_connected(true);
    second.ready(LEASE).await;
    let servers = database.servers();
    assert_eq!(servers.iter().filter(|server| !before.contains(&server.server)).count(), 1, "{servers:?}");
}

#[tokio::test(start_paused = true)]
async fn stop_ends_a_server_that_is_disconnected_or_loading() {
    let database = MemoryDatabase::new();
    let disconnected = RunningServer::start(&database).await;
    disconnected.store.set_connected(false);
    let loading = {
        let before = Server::start(&database).await;
        before.hold("ann", "a").await;
        before.kill();
        database.set_load_delay(LEASE * 2);
        RunningServer::start(&database).await
    };
    pass(LEASE / 4).await;
    for server in [disconnected, loading] {
        server.shutdown.stop.cancel();
        within(LEASE / 10, server.task).await.expect("ended");
    }
}

#[tokio::test(start_paused = true)]
async fn sessions_of_a_stopped_server_are_adopted_at_once() {
    let database = MemoryDatabase::new();
    let (first, second) = (RunningServer::start(&database).await, Server::start(&database).await);
    first.ready(LEASE).await;
    let token = first.hold("ann", "a").await;
    first.shutdown.stop.cancel();
    within(LEASE / 10, first.task).await.expect("ended");
    eventually(LEASE / 10, "adopted", async || second.namespace().await.remaining("ann").is_some()).await;
    assert_eq!(second.holder("a").await.map(|(_, token)| token.0), Some(token));
}

/// This holds also in the middle of a heartbeat, when it is not known yet which heartbeat the store has recorded.
#[tokio::test(start_paused = true)]
async fn sessions_of_a_drained_server_are_adopted_at_once() {
    for phase in 0..9 {
        let database = MemoryDatabase::new();
        let (first, second) = (RunningServer::start(&database).await, Server::start(&database).await);
        first.ready(LEASE).await;
        first.hold("ann", "a").await;
        database.set_heartbeat_delay(LEASE / 25);
        pass(LEASE / 20 + LEASE / 100 * phase).await;
        first.shutdown.drain.cancel();
        within(LEASE / 10, first.task).await.expect("ended");
        eventually(LEASE / 4, "adopted", async || second.namespace().await.remaining("ann").is_some()).await;
    }
}

/// Clients have no other server to fail over to, so waiting for them to leave gains nothing.
#[tokio::test(start_paused = true)]
async fn drain_of_the_only_server_ends_at_once_and_keeps_its_sessions() {
    let database = MemoryDatabase::new();
    let only = RunningServer::start(&database).await;
    only.ready(LEASE).await;
    let token = only.hold("ann", "a").await;
    let stream = only.connect("bob").await.expect("welcome");
    let mut watch = only.watch().await;
    within(LEASE, watch.message()).await.expect("open").expect("a snapshot");
    let waiting = only.acquire_within("cid", "a", LEASE);
    let ((), waited) = tokio::join!(
        async {
            pass(LEASE / 100).await;
            only.shutdown.drain.cancel();
        },
        waiting
    );
    within(LEASE / 20, only.task).await.expect("ended");
    assert_eq!(reason(waited), "DRAINING");
    assert_eq!(reason(stream.end().await), "DRAINING");
    assert_eq!(reason(within(LEASE, watch.message()).await), "DRAINING");
    let next = RunningServer::start(&database).await;
    next.ready(LEASE).await;
    assert_eq!(next.hold("ann", "a").await, token, "the hold continued");
    next.connect_again("bob").await.expect("it is open");
}

/// The metric of two servers that have seen each other.
const KNOWN: &str = "tenure_servers 2.0";

/// Each server would wait for the other one's clients to arrive, unless it knows that both drain.
#[tokio::test(start_paused = true)]
async fn drain_of_all_servers_at_once_waits_for_no_client() {
    let database = MemoryDatabase::new();
    let (first, second) = (RunningServer::start(&database).await, RunningServer::start(&database).await);
    let mut streams = Vec::new();
    for (server, session) in [(&first, "ann"), (&second, "bob")] {
        server.ready(LEASE).await;
        streams.push(server.connect(session).await.expect("welcome"));
    }
    eventually(LEASE / 10, "the servers know each other", async || first.has_sample(KNOWN) && second.has_sample(KNOWN))
        .await;
    for server in [&first, &second] {
        server.shutdown.drain.cancel();
    }
    let both = async { (first.task.await, second.task.await) };
    let (first, second) = within(LEASE / 10, both).await;
    assert!(first.is_ok() && second.is_ok(), "ended");
}

/// Otherwise clients without another server would reconnect again and again, each time with all of their sessions.
#[tokio::test(start_paused = true)]
async fn draining_server_rejects_new_streams_and_sessions() {
    let database = MemoryDatabase::new();
    let (first, second) = (RunningServer::start(&database).await, RunningServer::start(&database).await);
    first.ready(LEASE).await;
    second.ready(LEASE).await;
    second.open_session("dan").await.expect("opened");
    let mut stream = first.connect("ann").await.expect("welcome");
    pass(LEASE / 10).await;
    let before = database.revision("default");

    first.shutdown.drain.cancel();
    pass(LEASE / 100).await;
    assert_eq!(reason(first.connect("bob").await.map(drop)), "DRAINING");
    assert_eq!(reason(first.open_session("bob").await), "DRAINING");
    assert_eq!(reason(first.acquire("bob", "b").await), "DRAINING");
    assert_eq!(reason(first.renew("dan").await), "DRAINING", "another server is its home");
    let claim = v1::DeclaredClaim { number: 2, names: vec!["b".to_owned()], ..v1::DeclaredClaim::default() };
    match stream.declare(v1::Declaration { session: 1, claims: vec![claim], ..v1::Declaration::default() }, 2).await {
        State::Rejected(refusal) => assert_eq!(refusal.reason, "DRAINING"),
        other => panic!("not rejected: {other:?}"),
    }
    assert_eq!(database.revision("default"), before, "nothing was changed");

    // Existing sessions continue until their client leaves.
    stream.keep_alive(1).await;
    drop(stream);
    within(LEASE / 10, first.task).await.expect("ended");
    second.connect_again("ann").await.expect("it is open");
}

/// Every session is adopted, commits stay committed, and nothing is granted twice.
#[tokio::test(start_paused = true)]
async fn server_restarts_after_a_panic_and_others_adopt_its_sessions() {
    let database = MemoryDatabase::new();
    let (broken, other) = (RunningServer::start(&database).await, Server::start(&database).await);
    broken.ready(LEASE).await;
    let ann = broken.hold("ann", "a").await;
    let before: Vec<_> = database.servers().iter().map(|server| server.server).collect();
    database.fail_next(Fault::Panic);
    let refused = broken.acquire("bob", "b").await.expect_err("the sequencer has panicked");
    let reason = refused.get_details_error_info().map(|info| info.reason);
    assert_eq!(reason.as_deref(), Some("OUTCOME_UNKNOWN"), "{refused:?}: it is committed");
    eventually(LEASE / 10, "it restarts", async || !broken.is_ready()).await;
    eventually(LEASE / 10, "adopted", async || other.namespace().await.remaining("ann").is_some()).await;
    broken.ready(LEASE / 10).await;
    let (a, b) = (other.holder("a").await, other.holder("b").await.expect("it was committed"));
    assert_eq!(a.map(|(session, token)| (session, token.0)), Some(("ann".to_owned(), ann)));
    assert_eq!(broken.hold("bob", "b").await, b.1.0, "a repeated acquire returns the grant");
    assert!(broken.acquire("cid", "b").await.is_err(), "it is held");
    let servers = database.servers();
    let new = servers.iter().filter(|server| !server.dead && !before.contains(&server.server)).count();
    assert_eq!(new, 1, "{servers:?}");
    assert!(broken.has_sample("tenure_task_panics_total 1"));
}

#[tokio::test(start_paused = true)]
async fn only_server_adopts_its_own_sessions_after_a_panic() {
    let database = MemoryDatabase::new();
    let server = RunningServer::start(&database).await;
    server.ready(LEASE).await;
    let token = server.hold("ann", "a").await;
    database.fail_next(Fault::Panic);
    server.acquire("bob", "b").await.expect_err("the sequencer has panicked");
    eventually(LEASE / 10, "it restarts", async || !server.is_ready()).await;
    server.ready(LEASE / 10).await;
    // Longer than the TTL of a session without renewals.
    let observer = Server::start(&database).await;
    eventually(TTL * 2, "expired", async || observer.holder("a").await.is_none()).await;
    assert!(server.hold("cid", "a").await > token);
}

#[tokio::test(start_paused = true)]
async fn panic_of_a_task_ends_the_server() {
    let server = Server::start(&MemoryDatabase::new()).await;
    assert!(server.node.lease.tick().is_some());
    server.node.tasks.spawn(async { panic!("a defect") });
    within(LEASE / 10, server.node.cancel.cancelled()).await;
    pass(LEASE / 10).await;
    assert_eq!(server.node.lease.tick(), None);
}

#[tokio::test(start_paused = true)]
async fn outage_does_not_flood_the_log() {
    let database = MemoryDatabase::new();
    let (server, killed) = (RunningServer::start(&database).await, Server::start(&database).await);
    server.ready(LEASE).await;
    killed.hold("ann", "a").await;
    let warnings = Warnings::start();
    killed.kill();
    pass(LEASE * 8 / 10).await;
    database.set_available(false);
    let late = RunningServer::start(&database).await;
    pass(LEASE * 4).await;
    let count = warnings.count();
    assert!((4..30).contains(&count), "{count} lines in {:?}", LEASE * 4);
    database.set_available(true);
    server.ready(LEASE).await;
    late.ready(LEASE).await;
}

/// A snapshot takes a permit when the reader requests it, and the permit is returned even if the reader stops reading.
#[tokio::test(start_paused = true)]
async fn readers_that_stop_reading_block_no_snapshot() {
    let server = RunningServer::start(&MemoryDatabase::new()).await;
    server.ready(LEASE).await;
    let mut stuck = Vec::new();
    for _ in 0..8 {
        let mut watch = server.watch().await;
        assert!(futures::poll!(watch.next()).is_pending(), "the watch has started");
        stuck.push(watch);
    }
    let mut watch = server.watch().await;
    within(LEASE, watch.message()).await.expect("open").expect("a snapshot");
}
