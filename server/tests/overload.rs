//! A server with more commands than fit into one batch.

use crate::lab;

use std::time::Duration;

use lab::{Server, held, reply, settle, within};
use tenure_core::Rejection;
use tenure_core::testing::{move_to, release};
use tenure_server::sequencer::PendingGrant;
use tenure_server::store::Fault;

/// Enough commands for several full batches.
const COMMANDS: usize = 12_000;

const LIMIT: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn move_is_decided_before_many_acquires_that_were_sent_earlier() {
    let (database, server, other) = Server::pair().await;
    other.hold("ann", "a").await;
    let hold = database.hold_appends();
    let mut commands = Vec::new();
    for number in 0..COMMANDS {
        let (namespace, acquire) = (server.namespace().await, server.acquire("bob", &format!("n{number}")));
        commands.push(tokio::spawn(async move { namespace.decide(acquire).await }));
    }
    settle().await;
    let moved = server.send(move_to("ann", server.node.id)).await;
    drop(hold);
    let moved = within(LIMIT, moved).await.expect("ran").expect("open").revision;
    let mut later = 0;
    for sent in commands {
        let decided = within(LIMIT, sent).await.expect("ran").expect("free");
        later += usize::from(decided.revision > moved);
        decided.pending.into_iter().for_each(PendingGrant::acknowledge);
    }
    assert!(later > COMMANDS / 4, "only {later} of {COMMANDS} were decided after it");
}

/// Renewals are accepted, holds are released, and a new request is rejected without delay.
#[tokio::test(start_paused = true)]
async fn acquire_at_a_full_server_is_rejected_at_once_while_renewals_and_releases_are_accepted() {
    let (database, server) = Server::with_database().await;
    let namespace = server.namespace().await;
    let token = server.hold("ann", "a").await;
    let hold = database.hold_appends();
    let mut commands = Vec::new();
    while !namespace.is_full() {
        assert!(commands.len() < 10 * COMMANDS, "the queue is never full");
        let (namespace, acquire) = (
            namespace.clone(),
            server.acquire(&format!("bob {}", commands.len() % 100), &format!("n{}", commands.len())),
        );
        commands.push(tokio::spawn(async move { namespace.decide(acquire).await }));
        tokio::task::yield_now().await;
    }
    let acquire = server.acquire("bob", "past the bound");
    let refused = within(Duration::ZERO, namespace.decide(acquire.clone())).await;
    assert!(matches!(refused, Err(Rejection::Overloaded)), "{:?}", refused.map(|decided| decided.outcome));
    assert_eq!(namespace.renew("ann"), Ok(Some(lab::TTL)));
    let released = server.send(release("ann", "a", token)).await;
    drop(hold);
    within(LIMIT, released).await.expect("ran").expect("held");
    for sent in commands {
        let decided = within(LIMIT, sent).await.expect("ran").expect("queued");
        decided.pending.into_iter().for_each(PendingGrant::acknowledge);
    }
    server.hold_by(acquire).await;
}

#[tokio::test(start_paused = true)]
async fn command_rejected_while_an_append_is_unknown_is_not_counted_in_the_queue() {
    let (database, server) = Server::with_database().await;
    let namespace = server.namespace().await;
    server.hold("ann", "a").await;
    database.fail_next(Fault::OutcomeUnknownAndLost);
    let bob = server.send(server.acquire("bob", "b")).await;
    database.set_available(false);
    for _ in 0..2 * COMMANDS {
        let refused = namespace.decide(server.acquire("cid", "c")).await;
        assert!(matches!(refused, Err(Rejection::Unavailable(_))), "{:?}", refused.map(|decided| decided.outcome));
    }
    database.set_available(true);
    held(reply(bob).await);
    server.hold("cid", "c").await;
}
