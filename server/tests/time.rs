//! Decisions by time: expiry, leases, adoption and outages; with a clock that the test controls.

use crate::lab;

use std::time::Duration;

use lab::{LEASE, REATTACH, SOON, Server, TTL, eventually, granted, pass, settle, within};
use tenure_core::{Command, EndReason, Outcome, Rejection};
use tenure_server::sequencer::WaitEnd;

#[tokio::test(start_paused = true)]
async fn lock_of_a_dead_holder_is_granted_to_the_waiter_after_its_ttl() {
    let server = Server::alone().await;
    let token = server.hold("ann", "a").await;
    let mut pending = server.queue("bob", "a").await;
    let namespace = server.namespace().await;
    for _ in 0..12 {
        namespace.renew("ann").expect("open");
        namespace.renew("bob").expect("open");
        pass(TTL / 4).await;
    }
    namespace.renew("bob").expect("open");
    let renewed = tokio::time::Instant::now();
    namespace.renew("ann").expect("open");
    let keep_bob = async {
        loop {
            tokio::time::sleep(TTL / 4).await;
            namespace.renew("bob").expect("open");
        }
    };
    let end = tokio::select! {
        end = within(TTL * 2, pending.wait()) => end,
        () = keep_bob => unreachable!("it never ends"),
    };
    let took = renewed.elapsed();
    assert!(took >= TTL && took <= TTL + SOON, "{took:?}");
    assert!(matches!(end, Some(WaitEnd::Granted(claim)) if claim.token() > Some(token)));
}

#[tokio::test(start_paused = true)]
async fn sessions_of_a_killed_server_are_adopted_with_a_full_ttl() {
    let (_database, first, second) = Server::pair().await;
    let token = first.hold("ann", "a").await;
    first.kill();
    let adopted =
        eventually(LEASE + TTL, "adopted", async || second.namespace().await.remaining("ann").is_some()).await;
    assert!(adopted <= LEASE, "within the lease, not {adopted:?}");
    assert_eq!(second.holder("a").await, Some(("ann".to_owned(), token)), "the hold and its token stay");
    assert!(second.namespace().await.remaining("ann").expect("kept") >= TTL - SOON, "a full TTL");
    let expired = eventually(TTL * 2, "expired", async || second.holder("a").await.is_none()).await;
    assert!(expired >= TTL - SOON && expired <= TTL + SOON * 2, "{expired:?}");
}

#[tokio::test(start_paused = true)]
async fn hold_and_token_stay_if_the_session_is_renewed_at_another_server() {
    let (_database, first, second) = Server::pair().await;
    let token = first.hold("ann", "a").await;
    first.kill();
    second.make_home_of("ann").await.expect("open");
    assert!(second.keep_alive_for("ann", LEASE * 2).await);
    assert_eq!(second.holder("a").await, Some(("ann".to_owned(), token)));
}

#[tokio::test(start_paused = true)]
async fn outage_shorter_than_the_lease_does_not_affect_renewals() {
    let (database, server) = Server::with_database().await;
    let token = server.hold("ann", "a").await;
    database.set_available(false);
    assert!(server.keep_alive_for("ann", LEASE / 2).await, "renewals go on");
    let refused = server.ask(server.acquire("bob", "b")).await;
    assert!(matches!(refused, Err(Rejection::Unavailable(_))), "changes are rejected at once");
    database.set_available(true);
    assert!(server.keep_alive_for("ann", TTL * 3).await);
    assert_eq!(server.holder("a").await, Some(("ann".to_owned(), token)));
}

#[tokio::test(start_paused = true)]
async fn outage_longer_than_the_lease_expires_no_session() {
    let (database, server) = Server::with_database().await;
    let token = server.hold("ann", "a").await;
    database.set_available(false);
    let namespace = server.namespace().await;
    eventually(LEASE * 2, "the lease runs out", async || matches!(namespace.renew("ann"), Err(Rejection::LeaseLost)))
        .await;
    tokio::time::advance(LEASE * 5).await;
    settle().await;
    database.set_available(true);
    eventually(SOON * 20, "renewals are accepted again", async || namespace.renew("ann").is_ok()).await;
    assert!(server.keep_alive_for("ann", TTL * 2).await);
    assert_eq!(server.holder("a").await, Some(("ann".to_owned(), token)));
}

#[tokio::test(start_paused = true)]
async fn server_without_its_lease_does_not_poll_the_clock() {
    let (database, server) = Server::with_database().await;
    server.hold("ann", "a").await;
    database.set_available(false);
    pass(TTL - SOON).await;
    // As if the server had been frozen: the session expires at the last moment that counts.
    server.clock.jump(LEASE);
    pass(SOON).await;
    let before = server.clock.reads();
    settle().await;
    assert_eq!(server.clock.reads() - before, 0, "the clock is not polled");
}

#[tokio::test(start_paused = true)]
async fn server_cut_off_for_its_lease_rejects_renewals_and_is_marked_dead() {
    let (_database, cut_off, other) = Server::pair().await;
    let token = cut_off.hold("ann", "a").await;
    cut_off.store.set_connected(false);
    let namespace = cut_off.namespace().await;
    let adopted = eventually(LEASE + TTL, "adopted", async || {
        let kept = other.namespace().await.remaining("ann").is_some();
        assert!(
            !kept || matches!(namespace.renew("ann"), Err(Rejection::LeaseLost)),
            "both servers would accept renewals"
        );
        // The client's renewals are accepted for as long as the lease holds.
        let _ = namespace.renew("ann");
        kept
    })
    .await;
    assert!(adopted <= LEASE, "{adopted:?}");
    assert_eq!(other.holder("a").await, Some(("ann".to_owned(), token)));
    cut_off.store.set_connected(true);
    cut_off.marked_dead().await;
}

#[tokio::test(start_paused = true)]
async fn session_does_not_expire_while_its_server_is_frozen() {
    let server = Server::alone().await;
    server.hold("ann", "a").await;
    // Shorter than the lease, longer than the TTL: the client's renewals are in the socket, unread.
    server.clock.jump(LEASE / 2);
    tokio::time::advance(Duration::from_millis(60)).await;
    settle().await;
    assert!(matches!(server.namespace().await.renew("ann"), Ok(Some(_))), "the renewal is accepted afterwards");
    assert!(server.is_open("ann").await);
}

#[tokio::test(start_paused = true)]
async fn server_frozen_past_its_lease_rejects_renewals_before_its_next_heartbeat() {
    let server = Server::alone().await;
    server.hold("ann", "a").await;
    server.clock.jump(LEASE);
    assert_eq!(server.namespace().await.renew("ann"), Err(Rejection::LeaseLost));
}

/// The caller has failed over meanwhile.
#[tokio::test(start_paused = true)]
async fn server_frozen_past_its_lease_executes_no_command_before_its_next_heartbeat() {
    let (database, server) = Server::with_database().await;
    server.hold("ann", "a").await;
    let before = database.revision("default");
    server.clock.jump(LEASE);
    let refusal = server.ask(server.acquire("bob", "b")).await.err();
    assert!(matches!(refusal, Some(Rejection::Unavailable(_))), "{refusal:?}");
    assert_eq!(database.revision("default"), before);
}

#[tokio::test(start_paused = true)]
async fn grant_to_a_caller_that_has_left_is_abandoned_and_granted_to_the_next_waiter() {
    let server = Server::alone().await;
    let token = server.hold("ann", "a").await;
    let bob = server.queue("bob", "a").await;
    let mut cid = server.queue("cid", "a").await;
    drop(bob);
    server.release("ann", "a", token).await.expect("held");
    assert_eq!(
        server.holder("a").await.map(|(session, _)| session),
        Some("bob".to_owned()),
        "its place in the queue is kept"
    );
    let renewals = async {
        loop {
            tokio::time::sleep(TTL / 4).await;
            for session in ["ann", "bob", "cid"] {
                server.namespace().await.renew(session).expect("open");
            }
        }
    };
    let start = tokio::time::Instant::now();
    tokio::select! {
        end = within(REATTACH * 2, cid.wait()) => assert!(matches!(end, Some(WaitEnd::Granted(_)))),
        () = renewals => unreachable!("it never ends"),
    }
    assert!(start.elapsed() <= REATTACH + SOON, "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn wait_goes_on_at_the_server_to_which_its_caller_moved() {
    let (_database, first, second) = Server::pair().await;
    let token = first.hold("ann", "a").await;
    let before = first.queue("bob", "a").await;
    let bob = second.queue("bob", "a").await;
    assert_eq!(bob.claim(), before.claim(), "its place in the queue");
    let until = tokio::time::Instant::now() + REATTACH * 2;
    while tokio::time::Instant::now() < until {
        first.namespace().await.renew("ann").expect("open");
        second.namespace().await.renew("bob").expect("open");
        pass(TTL / 4).await;
    }
    first.release("ann", "a", token).await.expect("held");
    granted(bob).await;
}

#[tokio::test(start_paused = true)]
async fn grant_is_kept_for_a_caller_that_reconnects() {
    let server = Server::alone().await;
    let token = server.hold("ann", "a").await;
    drop(server.queue("bob", "a").await);
    server.release("ann", "a", token).await.expect("held");
    let granted = server.hold("bob", "a").await;
    assert!(server.keep_alive_for("bob", REATTACH * 3).await);
    assert_eq!(server.holder("a").await, Some(("bob".to_owned(), granted)), "the hold stays");
}

#[tokio::test(start_paused = true)]
async fn end_by_expiry_is_written_after_an_outage_of_the_store() {
    let (database, server) = Server::with_database().await;
    server.hold("ann", "a").await;
    database.set_available(false);
    pass(TTL + SOON).await;
    database.set_available(true);
    eventually(Duration::from_secs(1), "expired", async || !server.is_open("ann").await).await;
    let late = server.make_home_of("ann").await;
    let expired = Rejection::SessionEnded { session: "ann".into(), reason: EndReason::Expired };
    assert_eq!(late.map(drop), Err(expired));
}

#[tokio::test(start_paused = true)]
async fn end_wait_after_the_grant_returns_the_grant() {
    let server = Server::alone().await;
    let token = server.hold("ann", "a").await;
    let waiting = server.queue("bob", "a").await;
    let claim = waiting.claim();
    server.release("ann", "a", token).await.expect("held");
    let ended = server.ask(Command::EndWait { claim, home: server.node.id }).await.expect("decided");
    waiting.acknowledge();
    assert!(matches!(ended.outcome, Outcome::Held { .. }), "{:?}", ended.outcome);
}
