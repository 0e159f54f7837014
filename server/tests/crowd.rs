//! A server with more commands than fit into one batch.

use crate::lab;

use std::time::Duration;

use lab::{Server, settle, within};
use tenure_core::Command;
use tenure_server::sequencer::Refusal;
use tenure_server::store::{Fault, MemoryDatabase};

/// Enough commands for several full batches.
const CROWD: usize = 12_000;

const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn a_session_that_comes_does_not_wait_for_all_who_want_something_new() {
    let database = MemoryDatabase::new();
    let (server, other) = (Server::start(&database).await, Server::start(&database).await);
    other.hold("ann", "a").await;
    let hold = database.hold_appends();
    let mut crowd = Vec::new();
    for number in 0..CROWD {
        let (namespace, acquire) = (server.namespace().await, server.acquire("bob", &format!("n{number}")));
        crowd.push(tokio::spawn(async move { namespace.decide(acquire).await }));
    }
    settle().await;
    let namespace = server.namespace().await;
    let attach = Command::AttachSession { session: "ann".into(), home: server.node.id(), attachment: 0, client: None };
    let attached = tokio::spawn(async move { namespace.decide(attach).await });
    settle().await;
    drop(hold);
    let attached = within(PATIENCE, attached).await.expect("ran").expect("open").revision;
    let mut later = 0;
    for asked in crowd {
        let decided = within(PATIENCE, asked).await.expect("ran").expect("free");
        later += usize::from(decided.revision > attached);
        decided.pending.into_iter().for_each(tenure_server::sequencer::PendingGrant::acknowledge);
    }
    assert!(later > CROWD / 4, "only {later} of {CROWD} were decided after it");
}

/// Renewals are accepted, holds are released, and a new request is rejected without delay.
#[tokio::test(start_paused = true)]
async fn who_wants_something_new_of_a_full_server_is_refused_at_once() {
    let database = MemoryDatabase::new();
    let server = Server::start(&database).await;
    let namespace = server.namespace().await;
    let token = server.hold("ann", "a").await;
    let hold = database.hold_appends();
    let mut crowd = Vec::new();
    while !namespace.is_full() {
        assert!(crowd.len() < 10 * CROWD, "it is never full");
        let (namespace, acquire) =
            (namespace.clone(), server.acquire(&format!("bob {}", crowd.len() % 100), &format!("n{}", crowd.len())));
        crowd.push(tokio::spawn(async move { namespace.decide(acquire).await }));
        tokio::task::yield_now().await;
    }
    let acquire = server.acquire("bob", "too much");
    let refused = within(Duration::ZERO, namespace.decide(acquire.clone())).await;
    assert!(matches!(refused, Err(Refusal::Overloaded)), "{:?}", refused.map(|decided| decided.outcome));
    assert_eq!(namespace.renew("ann"), Ok(Some(lab::TTL)));
    let release = Command::Release { session: "ann".into(), name: "a".into(), token };
    let released = tokio::spawn(async move { namespace.decide(release).await });
    settle().await;
    drop(hold);
    within(PATIENCE, released).await.expect("ran").expect("it is held");
    for asked in crowd {
        let decided = within(PATIENCE, asked).await.expect("ran").expect("it was let in");
        decided.pending.into_iter().for_each(tenure_server::sequencer::PendingGrant::acknowledge);
    }
    server.hold_by(acquire).await;
}

#[tokio::test(start_paused = true)]
async fn who_is_turned_away_while_an_append_is_unknown_takes_no_room_any_more() {
    let database = MemoryDatabase::new();
    let server = Server::start(&database).await;
    let namespace = server.namespace().await;
    server.hold("ann", "a").await;
    database.fail_next(Fault::OutcomeUnknownAndLost);
    let (asked, acquire) = (namespace.clone(), server.acquire("bob", "b"));
    let bob = tokio::spawn(async move { asked.decide(acquire).await });
    settle().await;
    database.set_available(false);
    for _ in 0..2 * CROWD {
        let refused = namespace.decide(server.acquire("cid", "c")).await;
        assert!(matches!(refused, Err(Refusal::Unavailable(_))), "{:?}", refused.map(|decided| decided.outcome));
    }
    database.set_available(true);
    let decided = within(PATIENCE, bob).await.expect("ran").expect("free");
    decided.pending.into_iter().for_each(tenure_server::sequencer::PendingGrant::acknowledge);
    server.hold("cid", "c").await;
}
