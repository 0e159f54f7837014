//! Heartbeats.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::ServerId;
use tenure_server::store::{ServerRecord, Store};

use crate::Subject;

fn record(server: u64, heartbeat: u64) -> ServerRecord {
    ServerRecord {
        server: ServerId(server),
        heartbeat,
        lease: Duration::from_millis(10_500),
        label: format!("hôst 'one' {server} \"127.0.0.1:7420\""),
        address: format!("sèrver-{server}:7420"),
        certificate: format!("{server:064x}"),
        dead: false,
    }
}

async fn heartbeat(store: &Arc<dyn Store>, server: u64, heartbeat: u64) -> Vec<ServerRecord> {
    let mut servers = store.heartbeat(&record(server, heartbeat)).await.expect("heartbeats can be written");
    servers.sort_by_key(|record| record.server);
    servers
}

fn is_dead(servers: &[ServerRecord], server: u64) -> bool {
    let found: Vec<_> = servers.iter().filter(|record| record.server == ServerId(server)).collect();
    assert_eq!(found.len(), 1, "server {server} is listed once: {servers:?}");
    found[0].dead
}

/// Each heartbeat returns the others' last heartbeats.
pub async fn see_each_others_heartbeats(subject: &Subject) {
    assert_eq!(heartbeat(&subject.one, 1, 1).await, [record(1, 1)]);
    if subject.one.exclusive() {
        return;
    }
    assert_eq!(heartbeat(&subject.two, 2, 1).await, [record(1, 1), record(2, 1)]);
    assert_eq!(heartbeat(&subject.two, 2, u64::MAX).await, [record(1, 1), record(2, u64::MAX)]);
    assert_eq!(heartbeat(&subject.one, 1, 2).await, [record(1, 2), record(2, u64::MAX)]);
    assert_eq!(heartbeat(&subject.one, 1, 2).await, [record(1, 2), record(2, u64::MAX)], "a repeated heartbeat");
    assert_eq!(heartbeat(&subject.one, 1, 1).await, [record(1, 1), record(2, u64::MAX)], "the first heartbeat again");
}

/// A server that has sent another heartbeat meanwhile is alive.
pub async fn are_marked_dead_only_at_their_last_heartbeat(subject: &Subject) {
    let id = i64::MAX as u64;
    heartbeat(&subject.one, id, 1).await;
    heartbeat(&subject.one, id, 2).await;
    assert_eq!(subject.two.mark_dead(ServerId(id), 1).await, Ok(false));
    assert!(!is_dead(&heartbeat(&subject.one, id, 3).await, id));
    assert_eq!(subject.two.mark_dead(ServerId(id), 3).await, Ok(true));
    assert_eq!(subject.two.mark_dead(ServerId(id), 2).await, Ok(true), "it is dead already");
    assert_eq!(subject.two.mark_dead(ServerId(5), 3).await, Ok(true), "an unknown server is not alive");
}

/// A dead server cannot return.
pub async fn dead_server_cannot_send_heartbeats(subject: &Subject) {
    heartbeat(&subject.one, 1, 1).await;
    assert_eq!(subject.two.mark_dead(ServerId(1), 1).await, Ok(true));
    for number in [2, 1] {
        let servers = heartbeat(&subject.one, 1, number).await;
        assert!(is_dead(&servers, 1));
        assert_eq!(servers[0].heartbeat, 1, "the heartbeat had no effect");
    }
    let servers = heartbeat(&subject.one, 2, 1).await;
    assert!(is_dead(&servers, 1) && !is_dead(&servers, 2), "a new server is alive: {servers:?}");
}

/// Dead servers are rejected also after they were forgotten.
pub async fn forgotten_server_cannot_send_heartbeats(subject: &Subject) {
    heartbeat(&subject.one, 1, 1).await;
    subject.two.forget(&[ServerId(1)]).await.expect("forgetting works");
    assert!(!is_dead(&heartbeat(&subject.one, 1, 2).await, 1), "a live server is not forgotten");
    assert_eq!(subject.two.mark_dead(ServerId(1), 2).await, Ok(true));
    subject.two.forget(&[ServerId(1), ServerId(77)]).await.expect("forgetting works");
    subject.two.forget(&[]).await.expect("forgetting no server works");
    assert_eq!(heartbeat(&subject.one, 1, 3).await, [], "it is missing");
    assert_eq!(heartbeat(&subject.one, 1, 4).await, [], "it stays missing");
    assert_eq!(heartbeat(&subject.one, 2, 1).await, [record(2, 1)]);
}

/// The only server that can write is the only one that stays alive.
pub async fn new_server_replaces_the_old_in_an_exclusive_store(subject: &Subject) {
    heartbeat(&subject.one, 1, 1).await;
    let servers = heartbeat(&subject.two, 2, 1).await;
    assert_eq!(is_dead(&servers, 1), subject.one.exclusive());
    assert!(!is_dead(&servers, 2));
}
