//! Callers that leave and reconnect: a hold known to a caller is never ended, and an unknown hold always is.

use crate::lab;

use std::time::Duration;

use lab::{LEASE, REATTACH, SOON, Server, TTL, granted, pass, within};
use tenure_core::testing::Build;
use tenure_core::{Command, Outcome, Revision};
use tenure_server::sequencer::WaitEnd;

/// Lets time pass while these sessions are renewed.
async fn pass_with(server: &Server, sessions: &[&str], time: Duration) {
    let until = tokio::time::Instant::now() + time;
    while tokio::time::Instant::now() < until {
        for session in sessions {
            // A session with another home is renewed there, by another client.
            let _ = server.namespace().await.renew(session);
        }
        pass(SOON.min(until - tokio::time::Instant::now())).await;
    }
}

/// Acquires, and leaves without receiving the reply.
async fn acquire_and_leave(server: &Server, session: &str, name: &str) {
    drop(server.ask(server.acquire(session, name)).await.expect("decided"));
}

async fn holds(server: &Server, session: &str, token: Revision, name: &str) -> bool {
    server.holder(name).await == Some((session.to_owned(), token))
}

#[tokio::test(start_paused = true)]
async fn retry_after_a_lost_reply_gets_the_same_hold_and_keeps_it() {
    let server = Server::alone().await;
    acquire_and_leave(&server, "ann", "a").await;
    let granted = server.holder("a").await.expect("granted").1;
    pass_with(&server, &["ann"], REATTACH / 2).await;
    assert_eq!(server.hold("ann", "a").await, granted);
    pass_with(&server, &["ann"], REATTACH * 3).await;
    assert!(holds(&server, "ann", granted, "a").await, "an acknowledged hold is kept");
}

#[tokio::test(start_paused = true)]
async fn hold_that_was_not_acknowledged_is_abandoned_and_granted_to_the_next_waiter() {
    let server = Server::alone().await;
    acquire_and_leave(&server, "ann", "a").await;
    let bob = server.queue("bob", "a").await;
    pass_with(&server, &["ann", "bob"], REATTACH + SOON).await;
    let token = granted(bob).await;
    assert!(holds(&server, "bob", token, "a").await);
    assert!(server.is_open("ann").await, "its session is not affected");
}

#[tokio::test(start_paused = true)]
async fn wait_whose_call_dies_with_its_server_is_cancelled_unless_the_call_is_repeated() {
    let (_database, first, second) = Server::pair().await;
    let token = second.hold("ann", "a").await;
    for session in ["bob", "cid"] {
        let waits = first.ask(first.call(session, "a").await).await.expect("queued");
        assert!(matches!(waits.outcome, Outcome::Waiting { .. }), "{:?}", waits.outcome);
        std::mem::forget(waits.pending);
        // From now on the home of the session is not the server with its call.
        second.make_home_of(session).await.expect("open");
    }
    first.kill();
    pass_with(&second, &["ann", "bob", "cid"], LEASE + LEASE / 2).await;
    let again = second.ask(second.call("cid", "a").await).await.expect("waits");
    pass_with(&second, &["ann", "bob", "cid"], REATTACH + SOON).await;
    second.release("ann", "a", token).await.expect("held");
    // bob, who was first, does not delay it.
    granted(again.pending.expect("attended")).await;
    assert!(second.is_open("bob").await, "its session is not affected");
}

#[tokio::test(start_paused = true)]
async fn hold_that_a_call_has_returned_is_kept_when_the_table_is_loaded_from_rows_that_show_it_waiting() {
    let (database, server) = Server::with_database().await;
    let token = server.hold("ann", "a").await;
    let waits = server.ask(server.call("bob", "a").await).await.expect("queued");
    // Time for the rows to be written.
    pass_with(&server, &["ann", "bob"], Duration::from_secs(1)).await;
    server.release("ann", "a", token).await.expect("held");
    let granted = granted(waits.pending.expect("waits")).await;
    // The database loses the later commits, and the server has to reload its table.
    server.hold("cid", "c").await;
    database.restore_to("default", granted);
    server.hold("dot", "d").await;
    pass_with(&server, &["bob"], REATTACH * 2).await;
    assert!(holds(&server, "bob", granted, "a").await);
}

#[tokio::test(start_paused = true)]
async fn call_waits_on_when_the_table_is_loaded_from_rows_that_do_not_have_its_claim_yet() {
    let (database, server) = Server::with_database().await;
    let token = server.hold("ann", "a").await;
    // Time for the rows to be written.
    pass_with(&server, &["ann"], Duration::from_secs(1)).await;
    let waits = server.ask(server.call("bob", "a").await).await.expect("queued");
    // The database loses the later commits, and the server has to reload its table.
    server.hold("cid", "c").await;
    database.restore_to("default", waits.revision);
    server.hold("dot", "d").await;
    server.release("ann", "a", token).await.expect("held");
    granted(waits.pending.expect("waits")).await;
}

#[tokio::test(start_paused = true)]
async fn grant_awaited_by_several_callers_is_kept_if_one_acknowledges_it() {
    for (first, second) in [(true, true), (true, false), (false, true), (false, false)] {
        let server = Server::alone().await;
        let token = server.hold("ann", "a").await;
        let mut callers = [server.queue("bob", "a").await, server.queue("bob", "a").await];
        server.release("ann", "a", token).await.expect("held");
        let mut tokens = Vec::new();
        for caller in &mut callers {
            match within(SOON, caller.wait()).await {
                Some(WaitEnd::Granted(claim)) => tokens.push(claim.token().expect("held")),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(tokens[0], tokens[1], "one grant");
        for (caller, acknowledges) in callers.into_iter().zip([first, second]) {
            if acknowledges {
                caller.acknowledge();
            }
        }
        pass_with(&server, &["ann", "bob"], REATTACH * 2).await;
        let is_kept = holds(&server, "bob", tokens[0], "a").await;
        assert_eq!(is_kept, first || second, "first: {first}, second: {second}");
    }
}

#[tokio::test(start_paused = true)]
async fn hold_returned_to_several_callers_is_kept_if_one_acknowledges_it() {
    for (first, second) in [(true, false), (false, true), (false, false)] {
        let server = Server::alone().await;
        // Both replies are in flight when the first of them is delivered, or lost.
        let replies = [
            server.ask(server.acquire("ann", "a")).await.expect("free"),
            server.ask(server.acquire("ann", "a")).await.expect("held"),
        ];
        for (reply, acknowledges) in replies.into_iter().zip([first, second]) {
            assert!(matches!(reply.outcome, Outcome::Held { .. }));
            if let (Some(pending), true) = (reply.pending, acknowledges) {
                pending.acknowledge();
            }
        }
        pass_with(&server, &["ann"], REATTACH * 2).await;
        assert_eq!(server.holder("a").await.is_some(), first || second, "first: {first}, second: {second}");
    }
}

#[tokio::test(start_paused = true)]
async fn reply_is_right_for_a_caller_that_reconnects_in_the_batch_that_abandons_its_claim() {
    for granted in [true, false] {
        let (database, server) = Server::with_database().await;
        let token = server.hold("ann", "a").await;
        drop(server.queue("bob", "a").await);
        if granted {
            server.release("ann", "a", token).await.expect("held");
        }
        pass_with(&server, &["ann", "bob"], REATTACH - TTL / 2).await;
        // While one append is held up, the claim becomes due and its caller reconnects.
        let hold = database.hold_appends();
        let other = server.send(server.acquire("other", "z")).await;
        hold.reached().await;
        pass_with(&server, &["ann", "bob", "other"], TTL).await;
        let bob = server.send(server.acquire("bob", "a")).await;
        drop(hold);
        let answer = within(SOON, bob).await.expect("ran").expect("decided");
        let pending = answer.pending.expect("attended");
        match answer.outcome {
            Outcome::Held { claim, .. } => {
                pending.acknowledge();
                let token = claim.token().expect("held");
                assert!(granted && holds(&server, "bob", token, "a").await, "{claim:?}");
                pass_with(&server, &["ann", "bob"], REATTACH * 2).await;
                assert!(holds(&server, "bob", token, "a").await, "a returned hold is kept");
            }
            Outcome::Waiting { claim, .. } => {
                assert!(!granted);
                server.release("ann", "a", token).await.expect("held");
                let mut pending = pending;
                let end = within(SOON, pending.wait()).await;
                assert!(matches!(&end, Some(WaitEnd::Granted(now)) if now.id == claim.id), "{end:?}");
                pending.acknowledge();
            }
            other => panic!("{other:?}"),
        }
        drop(other.await.expect("ran").expect("free"));
    }
}

#[tokio::test(start_paused = true)]
async fn hold_acknowledged_at_another_server_is_kept_where_its_caller_was_lost() {
    let (_database, first, second) = Server::pair().await;
    let token = first.hold("ann", "a").await;
    drop(first.queue("bob", "a").await);
    // bob fails over to the other server, and is granted the lock there.
    let bob = second.queue("bob", "a").await;
    first.release("ann", "a", token).await.expect("held");
    let token = granted(bob).await;
    // bob returns, while the first server still remembers that it lost him.
    first.make_home_of("bob").await.expect("open");
    pass_with(&first, &["ann", "bob"], REATTACH * 2).await;
    assert!(holds(&first, "bob", token, "a").await, "a hold that he knows of");
}

#[tokio::test(start_paused = true)]
async fn hold_acknowledged_at_another_server_is_kept_if_its_first_caller_is_lost_late() {
    let (_database, first, second) = Server::pair().await;
    let unacknowledged = first.ask(first.acquire("ann", "a")).await.expect("free").pending.expect("granted just now");
    let token = second.hold("ann", "a").await;
    // As the other server does before it returns the hold.
    second.ask(Command::Acknowledge { claim: token }).await.expect("held");
    first.make_home_of("ann").await.expect("open");
    drop(unacknowledged);
    pass_with(&first, &["ann"], REATTACH * 2).await;
    assert!(holds(&first, "ann", token, "a").await, "a hold that she knows of");
}

#[tokio::test(start_paused = true)]
async fn change_of_the_ttl_abandons_no_wait() {
    let server = Server::alone().await;
    let token = server.hold("ann", "a").await;
    let bob = server.queue("bob", "a").await;
    server.hold_by(server.acquire("bob", "b").ttl(TTL * 2)).await;
    pass_with(&server, &["ann", "bob"], REATTACH * 2).await;
    server.release("ann", "a", token).await.expect("held");
    granted(bob).await;
}

#[tokio::test(start_paused = true)]
async fn waits_of_dead_callers_end_together() {
    let server = Server::alone().await;
    let token = server.hold("ann", "a").await;
    let dead = ["d1", "d2", "d3", "d4"];
    for session in dead {
        drop(server.queue(session, "a").await);
    }
    let mut last = server.queue("zoe", "a").await;
    let died = tokio::time::Instant::now();
    server.release("ann", "a", token).await.expect("held");
    let alive: Vec<&str> = dead.into_iter().chain(["ann", "zoe"]).collect();
    let end = tokio::select! {
        end = last.wait() => end,
        () = pass_with(&server, &alive, REATTACH * 2) => None,
    };
    assert!(matches!(end, Some(WaitEnd::Granted(_))), "{end:?}");
    assert!(died.elapsed() <= REATTACH + SOON, "{:?}", died.elapsed());
    last.acknowledge();
}

#[tokio::test(start_paused = true)]
async fn wait_of_a_dead_caller_ends_with_its_session() {
    let server = Server::alone().await;
    let token = server.hold("ann", "a").await;
    drop(server.queue("dead", "a").await);
    let mut last = server.queue("zoe", "a").await;
    let died = tokio::time::Instant::now();
    server.release("ann", "a", token).await.expect("held");
    // A dead process does not renew its session either.
    let end = tokio::select! {
        end = last.wait() => end,
        () = pass_with(&server, &["ann", "zoe"], REATTACH) => None,
    };
    assert!(matches!(end, Some(WaitEnd::Granted(_))), "{end:?}");
    assert!(TTL < REATTACH && died.elapsed() <= TTL + SOON, "{:?}", died.elapsed());
    last.acknowledge();
}

#[tokio::test(start_paused = true)]
async fn wait_at_a_dead_server_ends_unless_its_caller_reconnects() {
    let (_database, first, second) = Server::pair().await;
    let token = second.hold("ann", "a").await;
    std::mem::forget(first.queue("dead", "a").await);
    let mut last = second.queue("zoe", "a").await;
    first.kill();
    let died = tokio::time::Instant::now();
    second.release("ann", "a", token).await.expect("held");
    let end = tokio::select! {
        end = last.wait() => end,
        () = pass_with(&second, &["ann", "zoe"], LEASE * 2) => None,
    };
    assert!(matches!(end, Some(WaitEnd::Granted(_))), "{end:?}");
    assert!(died.elapsed() <= LEASE + TTL + SOON, "{:?}", died.elapsed());
    last.acknowledge();
}
