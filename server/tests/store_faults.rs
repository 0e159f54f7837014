//! The sequencer's handling of store failures, and of other servers that commit first.

use crate::lab;

use std::collections::BTreeSet;
use std::time::Duration;

use lab::{SOON, Server, assert_no_gaps, eventually, granted, grants, held, reply, settle, within};
use tenure_core::testing::release;
use tenure_core::{Event, Outcome, Rejection, Revision};
use tenure_server::store::{Fault, MemoryDatabase, Store};

#[tokio::test(start_paused = true)]
async fn append_of_unknown_outcome_is_looked_up_before_the_reply() {
    for (fault, committed) in [(Fault::OutcomeUnknown, true), (Fault::OutcomeUnknownAndLost, false)] {
        let (database, server) = Server::with_database().await;
        server.hold("ann", "a").await;
        let before = database.log("default").len();
        database.fail_next(fault);
        let token = server.hold("bob", "b").await;
        assert_eq!(server.holder("b").await, Some(("bob".to_owned(), token)));
        assert_eq!(grants(&database, "bob").len(), 1, "{fault:?} (committed: {committed}) has one effect");
        assert_eq!(database.log("default").len(), before + 1);
    }
}

#[tokio::test(start_paused = true)]
async fn commit_of_unknown_outcome_that_loses_to_another_server_is_decided_again() {
    let (database, one, two) = Server::pair().await;
    let hold = database.hold_appends();
    database.fail_next(Fault::OutcomeUnknownAndLost);
    let sent = one.send(one.acquire("ann", "a")).await;
    hold.reached().await;
    drop(hold);
    let bob = two.hold("bob", "a").await;
    let decided = reply(sent).await.expect("decided");
    assert!(matches!(decided.outcome, Outcome::Waiting { .. }), "{:?}", decided.outcome);
    assert_eq!(one.holder("a").await, Some(("bob".to_owned(), bob)));
}

/// The outcome can then no longer be determined, so it is reported as unknown.
#[tokio::test(start_paused = true)]
async fn commit_of_unknown_outcome_stays_unknown_if_its_part_of_the_log_was_trimmed() {
    let (database, one, two) = Server::pair().await;
    let token = one.hold("ann", "a").await;
    let hold = database.hold_appends();
    database.fail_next(Fault::OutcomeUnknown);
    let sent = one.send(release("ann", "a", token)).await;
    hold.reached().await;
    drop(hold);
    eventually(SOON, "the release is committed", async || database.revision("default") > token).await;
    one.store.set_connected(false);
    let bob = two.hold("bob", "b").await;
    let next = two.hold("cid", "c").await;
    rows_at(&database, next).await;
    let trimmed = database.server().trim("default", Revision(0), i64::MAX).await.expect("available");
    assert!(trimmed >= bob, "{trimmed}");
    one.store.set_connected(true);
    let refused = reply(sent).await;
    assert_eq!(refused.map(|decided| decided.outcome), Err(Rejection::OutcomeUnknown));
    assert_eq!(one.holder("a").await, None);
    assert_eq!(one.holder("b").await, Some(("bob".to_owned(), bob)));
}

#[tokio::test(start_paused = true)]
async fn revisions_of_two_racing_servers_have_no_gaps() {
    let (database, one, two) = Server::pair().await;
    let mut sent = Vec::new();
    for number in 0..100 {
        let server = if number % 2 == 0 { &one } else { &two };
        let (namespace, command) = (server.namespace().await, server.acquire(&format!("s{number}"), "a"));
        sent.push(tokio::spawn(async move { namespace.decide(command).await }));
    }
    let mut held = 0;
    for task in sent {
        let decided = within(Duration::from_secs(60), task).await.expect("ran").expect("decided");
        if matches!(decided.outcome, Outcome::Held { .. }) {
            held += 1;
            decided.pending.expect("granted just now").acknowledge();
        } else {
            // Leaked, so that it keeps waiting until the test ends.
            std::mem::forget(decided.pending);
        }
    }
    assert_eq!(held, 1);
    assert_no_gaps(&database);
    let tables: BTreeSet<Option<(String, Revision)>> = [one.holder("a").await, two.holder("a").await].into();
    assert_eq!(tables.len(), 1, "both servers agree");
}

#[tokio::test(start_paused = true)]
async fn wait_at_another_server_is_granted_after_the_release() {
    let (_database, one, two) = Server::pair().await;
    let token = one.hold("ann", "a").await;
    let bob = two.queue("bob", "a").await;
    one.release("ann", "a", token).await.expect("held");
    granted(bob).await;
}

#[tokio::test(start_paused = true)]
async fn loss_of_history_makes_the_revision_jump_past_all_tokens() {
    for other_server_too in [false, true] {
        let (database, server) = Server::with_database().await;
        let observer = if other_server_too { Some(Server::start(&database).await) } else { None };
        let kept = server.hold("ann", "a").await;
        let lost = server.hold("bob", "b").await;
        let hub = server.namespace().await.hub().clone();
        database.restore_to("default", kept);
        let next = server.hold("cid", "c").await;
        assert!(next > lost, "a token never repeats: {next} after {lost}");
        assert_eq!(server.holder("b").await, None, "lost holds are gone");
        assert_eq!(server.holder("a").await, Some(("ann".to_owned(), kept)));
        let since = hub.after(kept, &BTreeSet::new(), 1_000).expect("in memory");
        let loss = since
            .batches
            .iter()
            .flat_map(|batch| &batch.events)
            .find(|recorded| matches!(recorded.event, Event::HistoryLost { .. }));
        assert!(loss.expect("reported to watchers").revision > lost);
        if let Some(observer) = observer {
            assert_eq!(observer.holder("b").await, None);
            assert!(observer.hold("dot", "d").await > next);
        }
    }
}

/// If the lost history contains the release, the lock is held again after the loss. An acquire must not return the old
/// token, which is below tokens granted to others meanwhile.
#[tokio::test(start_paused = true)]
async fn acquire_of_a_hold_from_before_a_loss_is_granted_anew() {
    let (database, server) = Server::with_database().await;
    let kept = server.hold("ann", "a").await;
    server.release("ann", "a", kept).await.expect("held");
    let lost = server.hold("bob", "a").await;
    database.restore_to("default", kept);
    let anew = server.hold("ann", "a").await;
    assert!(anew > lost, "tokens rise: {anew} after {lost}");
    assert_eq!(server.hold("ann", "a").await, anew, "a repetition changes nothing");
    server.release("ann", "a", kept).await.expect("the released hold has ended");
    assert_eq!(server.holder("a").await, Some(("ann".to_owned(), anew)));
    server.release("ann", "a", anew).await.expect("held");
}

/// Returns when the rows cover the log up to this revision.
async fn rows_at(database: &MemoryDatabase, revision: Revision) {
    while database.server().load("default").await.expect("available").revision < revision {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A failed load must leave no state behind; otherwise watchers would receive the lost events.
#[tokio::test(start_paused = true)]
async fn load_that_fails_leaves_no_state() {
    for others in 0..3 {
        let (database, server) = Server::with_database().await;
        let kept = server.hold("ann", "a").await;
        within(Duration::from_secs(10), rows_at(&database, kept)).await;
        let lost = server.hold("bob", "b").await;
        let hub = server.namespace().await.hub().clone();
        database.restore_to("default", kept);
        server.store.set_connected(false);
        let observer = Server::start(&database).await;
        observer.hold("cid", "c").await;
        server.store.set_connected(true);
        database.fail_read_after(others);
        while let Err(refusal) = server.namespace().await.read(|_| ()).await {
            assert!(matches!(refusal, Rejection::Unavailable(_)), "{refusal}");
        }
        let since = hub.after(kept, &BTreeSet::new(), 1_000);
        let revisions = since.iter().flat_map(|since| &since.batches).map(|batch| batch.revision());
        assert!(revisions.into_iter().all(|revision| revision > lost), "lost events are not reported");
    }
}

/// No server is left that knows the granted tokens, and the clock does not help.
#[tokio::test(start_paused = true)]
async fn revision_jumps_past_all_tokens_even_if_the_clock_of_the_database_was_set_back() {
    let (database, server) = Server::with_database().await;
    server.hold("ann", "a").await;
    database.fail_over();
    let kept = server.hold("bob", "b").await;
    let mut lost = kept;
    for number in 0..10 {
        lost = server.hold("cid", &number.to_string()).await;
    }
    drop(server);
    database.set_clock_ms(1);
    database.restore_to("default", kept);
    let other = Server::start(&database).await;
    assert!(other.hold("dot", "d").await > lost);
}

/// The lost history may contain an earlier jump: the next one must lead beyond that.
#[tokio::test(start_paused = true)]
async fn revision_jumps_past_all_tokens_even_if_an_earlier_jump_was_lost() {
    const CLOCK: i64 = 1_000_000_000;
    let (database, server) = Server::with_database().await;
    server.hold("ann", "a").await;
    database.set_clock_ms(CLOCK);
    database.fail_over();
    let kept = server.hold("bob", "b").await;
    database.set_clock_ms(CLOCK + 200);
    database.fail_over();
    let mut lost = kept;
    for number in 0..10 {
        lost = server.hold("cid", &number.to_string()).await;
    }
    drop(server);
    database.set_clock_ms(CLOCK + 400);
    database.restore_to("default", kept);
    let other = Server::start(&database).await;
    assert!(other.hold("dot", "d").await > lost);
}

#[tokio::test(start_paused = true)]
async fn failover_without_visible_loss_makes_the_revision_jump() {
    let (database, server) = Server::with_database().await;
    let before = server.hold("ann", "a").await;
    database.fail_over();
    let after = server.hold("bob", "b").await;
    assert!(after.0 > before.0 + 1_000, "the clock's ms shifted by 16, not {after}");
    assert_eq!(server.holder("a").await, Some(("ann".to_owned(), before)), "holds stay");
}

/// The lost history may contain a namespace of that name, with unknown granted tokens.
#[tokio::test(start_paused = true)]
async fn namespace_created_after_a_failover_does_not_begin_at_revision_1() {
    let database = MemoryDatabase::new();
    database.fail_over();
    let server = Server::start(&database).await;
    assert_eq!(server.holder("a").await, None);
    assert!(database.log("default").is_empty(), "reads create no namespace");
    let first = server.hold("ann", "a").await;
    assert!(first.0 > 1_000_000, "the clock's ms shifted by 16, not {first}");
    let next = server.hold("bob", "b").await;
    assert!(next.0 < first.0 + 100, "it jumps once, not to {next}");
    assert_eq!(database.log("default")[0].previous, Revision(0));
}

#[tokio::test(start_paused = true)]
async fn revision_behind_the_known_one_is_a_loss_of_history() {
    let (database, server) = Server::with_database().await;
    let kept = server.hold("ann", "a").await;
    let lost = server.hold("bob", "b").await;
    database.lose_after("default", kept);
    assert_eq!(server.holder("b").await, None);
    assert!(server.hold("bob", "b").await > lost);
}

#[tokio::test(start_paused = true)]
async fn rows_and_the_log_after_them_load_to_the_same_state() {
    let (database, server) = Server::with_database().await;
    for number in 0..20 {
        let token = server.hold(&format!("s{number}"), "a").await;
        server.hold(&format!("s{number}"), &format!("n{number}")).await;
        server.release(&format!("s{number}"), "a", token).await.expect("held");
        if number == 10 {
            eventually(Duration::from_secs(2), "rows are written", async || {
                let rows = server.store.load("default").await.expect("readable");
                rows.revision == database.revision("default")
            })
            .await;
        }
    }
    settle().await;
    let next = Server::start(&database).await;
    let state = async |server: &Server| {
        let read = server.namespace().await;
        let read = read.read(|table| (table.revision(), table.claims().cloned().collect::<Vec<_>>()));
        read.await.expect("readable")
    };
    assert_eq!(state(&next).await, state(&server).await);
}

#[tokio::test(start_paused = true)]
async fn wait_that_begins_and_ends_in_one_batch_returns_the_grant() {
    let (database, server) = Server::with_database().await;
    let token = server.hold("ann", "a").await;
    // While one append is held up, arriving commands are collected into one batch.
    let hold = database.hold_appends();
    let other = server.send(server.acquire("other", "b")).await;
    hold.reached().await;
    let bob = server.send(server.acquire("bob", "a")).await;
    let released = server.send(release("ann", "a", token)).await;
    let batches = database.log("default").len();
    drop(hold);
    granted(reply(bob).await.expect("queued").pending.expect("attended")).await;
    reply(released).await.expect("released");
    held(reply(other).await);
    assert_eq!(database.log("default").len(), batches + 2, "the wait and the release were one batch");
}

#[tokio::test(start_paused = true)]
async fn commands_and_reads_are_rejected_at_once_while_the_store_is_unavailable() {
    let (database, server) = Server::with_database().await;
    server.hold("ann", "a").await;
    database.set_available(false);
    let refused = within(SOON, server.ask(server.acquire("bob", "b"))).await;
    assert!(matches!(refused, Err(Rejection::Unavailable(_))));
    let refused = within(SOON, server.namespace().await.read(tenure_core::Table::revision)).await;
    assert!(matches!(refused, Err(Rejection::Unavailable(_))));
    database.set_available(true);
    server.hold("bob", "b").await;
}

/// The lab's servers keep at most ten namespaces.
#[tokio::test(start_paused = true)]
async fn namespace_that_could_not_be_opened_is_not_counted() {
    let (database, server) = Server::with_database().await;
    database.set_available(false);
    for number in 0..20 {
        let opened = within(SOON, server.node.namespaces.get(&format!("n{number}"))).await;
        assert!(opened.is_err(), "{number}");
    }
    database.set_available(true);
    assert!(server.node.namespaces.get("another").await.is_ok());
}

/// Commands in progress at the stop get a reply; commands not yet started are known to have changed nothing.
#[tokio::test(start_paused = true)]
async fn command_that_was_not_begun_is_rejected_when_the_server_stops() {
    let (database, server) = Server::with_database().await;
    let hold = database.hold_appends();
    let started = server.send(server.acquire("ann", "a")).await;
    hold.reached().await;
    let queued = server.send(server.acquire("bob", "b")).await;
    server.kill();
    drop(hold);
    let started = within(SOON, started).await.expect("ran").expect("committed");
    std::mem::forget(started.pending);
    let refused = within(SOON, queued).await.expect("ran").err();
    assert_eq!(refused, Some(Rejection::Draining));
    assert_eq!(database.log("default").len(), 1);
}
