//! Waits that are abandoned, repeated, cancelled, or time out.

use std::time::{Duration, Instant};

use tenure_proto::v1::{CancelAcquireRequest, CloseSessionRequest};
use tenure_server::store::Fault;
use tonic::Code;
use tonic_types::StatusExt;

use crate::calls::cluster::{Cluster, REATTACH, WAIT, acquire_request, assert_stays, until};
use crate::calls::lost_calls::{ABANDONMENTS, PendingCall, acquire_and_abandon, ask, assert_only_grant};
use crate::serving::within;

#[tokio::test]
async fn abandoned_wait_continues_with_a_retry_and_is_cancelled_without() {
    for abandonment in ABANDONMENTS {
        let cluster = Cluster::start(1).await;
        let caller = cluster.caller(0).await;
        let token = caller.hold("ann", "a").await;
        acquire_and_abandon(&cluster, acquire_request("bob", "a", None), abandonment, caller.wait_for_waiters("a", 1))
            .await;
        let claim = caller.lock("a").await.waiters[0].id;
        let cid = ask(&caller, acquire_request("cid", "a", None));
        caller.wait_for_waiters("a", 2).await;
        let bob = ask(&caller, acquire_request("bob", "a", None));
        assert_stays("both wait", async || caller.lock("a").await.waiter_count == 2).await;
        caller.release("ann", "a", token).await.expect("held");
        let bob = within(bob).await.expect("ran").expect("answered");
        assert_only_grant(&bob, &cluster.grants("bob"));
        assert_eq!(bob.claim.expect("a claim").id, claim, "its place in the queue");
        // This call is not repeated.
        acquire_and_abandon(&cluster, acquire_request("dot", "a", None), abandonment, caller.wait_for_waiters("a", 2))
            .await;
        caller.wait_for_waiters("a", 1).await;
        caller.release("bob", "a", bob.token).await.expect("held");
        assert_only_grant(&within(cid).await.expect("ran").expect("answered"), &cluster.grants("cid"));
        assert_eq!(cluster.grants("dot"), []);
    }
}

#[tokio::test]
async fn acquire_without_waiting_ends_an_existing_wait() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    caller.hold("ann", "a").await;
    for is_lost in [true, false] {
        let first = ask(&cluster.caller(0).await, acquire_request("bob", "a", None));
        caller.wait_for_waiters("a", 1).await;
        if is_lost {
            first.abort();
        }
        let second = caller.acquire(acquire_request("bob", "a", Some(Duration::ZERO))).await.expect("answered");
        assert!(!second.acquired, "{second:?}");
        assert_eq!(second.holder.expect("a holder").session_id, "ann");
        assert_eq!(caller.lock("a").await.waiter_count, 0);
        if !is_lost {
            let ended = within(first).await.expect("ran").expect_err("its claim has ended");
            assert!(ended.message().contains("released"), "{ended}");
        }
    }
    assert_eq!(cluster.grants("bob"), []);
}

#[tokio::test]
async fn deadline_of_a_lost_call_does_not_end_the_wait_of_its_retry() {
    for server in [0, 1] {
        let cluster = Cluster::start(2).await;
        let caller = cluster.caller(0).await;
        let token = caller.hold("ann", "a").await;
        // The caller has lost this call, but the server does not know.
        let lost = ask(&caller, acquire_request("bob", "a", Some(WAIT)));
        caller.wait_for_waiters("a", 1).await;
        let claim = caller.lock("a").await.waiters[0].id;
        let retry = ask(&cluster.caller(server).await, acquire_request("bob", "a", None));
        let lost = within(lost).await.expect("ran").expect("answered");
        assert!(!lost.acquired && lost.holder.is_some(), "{lost:?}");
        assert_stays("the retry waits", async || caller.lock("a").await.waiter_count == 1).await;
        caller.release("ann", "a", token).await.expect("held");
        let retry = within(retry).await.expect("ran").expect("answered");
        assert_only_grant(&retry, &cluster.grants("bob"));
        assert_eq!(retry.claim.expect("a claim").id, claim, "its place in the queue");
    }
}

#[tokio::test]
async fn claim_is_cancelled_if_its_later_call_leaves_while_its_earlier_one_times_out() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    caller.hold("ann", "a").await;
    let first = ask(&caller, acquire_request("bob", "a", Some(WAIT)));
    caller.wait_for_waiters("a", 1).await;
    let later = ask(&caller, acquire_request("bob", "a", None));
    caller.flush().await;
    // Messages received from now on are processed after this append.
    let hold = cluster.database.hold_appends();
    let other = ask(&caller, acquire_request("cid", "c", None));
    hold.reached().await;
    // The first call times out, and the later one is cancelled, while the append hangs.
    tokio::time::sleep(WAIT * 3 / 2).await;
    later.abort();
    tokio::time::sleep(REATTACH / 4).await;
    drop(hold);
    within(other).await.expect("ran").expect("granted");
    assert!(!within(first).await.expect("ran").expect("answered").acquired);
    until("the claim has ended", async || {
        caller.renew("bob").await.expect("open");
        caller.lock("a").await.waiter_count == 0
    })
    .await;
}

#[tokio::test]
async fn cancel_or_close_ends_all_calls_for_the_claim() {
    for closes in [false, true] {
        let cluster = Cluster::start(1).await;
        let caller = cluster.caller(0).await;
        let token = caller.hold("ann", "a").await;
        let calls: Vec<PendingCall> = (0..3).map(|_| ask(&caller, acquire_request("bob", "a", None))).collect();
        caller.wait_for_waiters("a", 1).await;
        caller.flush().await;
        let mut revisions = Vec::new();
        for _ in 0..2 {
            if closes {
                let request = CloseSessionRequest { session_id: "bob".into(), ..CloseSessionRequest::default() };
                within(caller.sessions().close_session(request)).await.expect("a repetition is no error");
            } else {
                let (session_id, names) = ("bob".to_owned(), vec!["a".to_owned()]);
                let request = CancelAcquireRequest { session_id, names, ..CancelAcquireRequest::default() };
                within(caller.locks().cancel_acquire(request)).await.expect("a repetition is no error");
            }
            revisions.push(cluster.database.revision("default"));
        }
        // A cancel is recorded each time: it also rejects requests received since the last one.
        let recorded = if closes { 0 } else { 1 };
        assert_eq!(revisions[0].0 + recorded, revisions[1].0, "the repetition changes nothing else");
        for call in calls {
            within(call).await.expect("ran").expect_err("its claim has ended");
        }
        caller.release("ann", "a", token).await.expect("held");
        assert_stays("the lock is free", async || caller.holder("a").await.is_none()).await;
        assert_eq!(caller.session("bob").await.is_err(), closes, "no call has reopened the session");
        assert_eq!(cluster.grants("bob"), []);
    }
}

#[tokio::test]
async fn wait_continues_while_its_session_moves_to_another_server_and_back() {
    let cluster = Cluster::start(2).await;
    let (first, second) = (cluster.caller(0).await, cluster.caller(1).await);
    let token = first.hold("ann", "a").await;
    let bob = ask(&first, acquire_request("bob", "a", None));
    first.wait_for_waiters("a", 1).await;
    let claim = first.lock("a").await.waiters[0].id;
    assert_stays("it waits", async || {
        second.renew("bob").await.expect("open");
        second.lock("a").await.waiters.first().is_some_and(|waiter| waiter.id == claim)
    })
    .await;
    // The session moves back to the first server, without any repeated call.
    first.renew("bob").await.expect("open");
    assert_stays("it waits", async || first.lock("a").await.waiters.first().is_some_and(|waiter| waiter.id == claim))
        .await;
    first.release("ann", "a", token).await.expect("held");
    assert_only_grant(&within(bob).await.expect("ran").expect("answered"), &cluster.grants("bob"));
}

#[tokio::test]
async fn wait_that_times_out_during_the_commit_of_its_grant_returns_the_grant() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let token = caller.hold("ann", "a").await;
    let bob = ask(&caller, acquire_request("bob", "a", Some(WAIT)));
    caller.wait_for_waiters("a", 1).await;
    let hold = cluster.database.hold_appends();
    let release = caller.clone();
    let released = tokio::spawn(async move { release.release("ann", "a", token).await });
    hold.reached().await;
    // The wait times out while the append hangs.
    tokio::time::sleep(WAIT * 3 / 2).await;
    drop(hold);
    within(released).await.expect("ran").expect("held");
    let bob = within(bob).await.expect("ran").expect("answered");
    assert_only_grant(&bob, &cluster.grants("bob"));
    assert_stays("the hold", async || caller.holder("a").await == Some(("bob".into(), bob.token))).await;
}

#[tokio::test]
async fn wait_whose_end_cannot_be_committed_has_an_unknown_outcome() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    caller.hold("ann", "a").await;
    let bob = ask(&caller, acquire_request("bob", "a", Some(WAIT)));
    caller.wait_for_waiters("a", 1).await;
    cluster.database.set_available(false);
    let status = within(bob).await.expect("ran").expect_err("the end cannot be committed");
    let reason = status.get_error_details().error_info().map(|info| info.reason.clone());
    assert_eq!(reason.as_deref(), Some("OUTCOME_UNKNOWN"), "{status:?}");
    cluster.database.set_available(true);
    let later = caller.acquire(acquire_request("cid", "a", Some(Duration::ZERO))).await.expect("answered");
    assert!(!later.acquired);
}

#[tokio::test]
async fn wait_that_times_out_before_the_grant_is_passed_over() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let token = caller.hold("ann", "a").await;
    let bob = ask(&caller, acquire_request("bob", "a", Some(WAIT)));
    caller.wait_for_waiters("a", 1).await;
    let cid = ask(&caller, acquire_request("cid", "a", None));
    caller.wait_for_waiters("a", 2).await;
    let hold = cluster.database.hold_appends();
    let other = ask(&caller, acquire_request("other", "z", None));
    hold.reached().await;
    // The wait times out while another append hangs; the release comes after that.
    tokio::time::sleep(WAIT * 3 / 2).await;
    let release = caller.clone();
    let released = tokio::spawn(async move { release.release("ann", "a", token).await });
    caller.flush().await;
    drop(hold);
    within(released).await.expect("ran").expect("held");
    within(other).await.expect("ran").expect("free");
    let bob = within(bob).await.expect("ran").expect("answered");
    assert!(!bob.acquired, "{bob:?}");
    assert_only_grant(&within(cid).await.expect("ran").expect("answered"), &cluster.grants("cid"));
    assert_eq!(cluster.grants("bob"), []);
}

#[tokio::test]
async fn wait_whose_end_another_server_has_committed_times_out() {
    let cluster = Cluster::start(2).await;
    let (writer, waiter) = (cluster.caller(0).await, cluster.caller(1).await);
    writer.hold("ann", "a").await;
    let mut ended = 0;
    for _ in 0..8 {
        let start = Instant::now();
        let bob = ask(&waiter, acquire_request("bob", "a", Some(WAIT)));
        waiter.wait_for_waiters("a", 1).await;
        // The end of the wait is forwarded to the server that wrote a moment ago.
        tokio::time::sleep(WAIT * 3 / 5).await;
        while start.elapsed() < WAIT * 4 / 5 {
            if let Ok(answer) = writer.acquire(acquire_request("cid", "z", Some(Duration::ZERO))).await {
                let _ = writer.release("cid", "z", answer.token).await;
            }
        }
        // That server does not know whether its commit succeeded, so the forwarding server looks it up in the log.
        cluster.database.fail_next(Fault::OutcomeUnknown);
        match within(bob).await.expect("ran") {
            Ok(bob) => {
                assert!(!bob.acquired, "{bob:?}");
                assert_eq!(bob.holder.expect("a holder").session_id, "ann");
                ended += 1;
            }
            // During the lookup in the log, the server replies that it is unavailable.
            Err(status) => assert_eq!(status.code(), Code::Unavailable, "{status:?}"),
        }
    }
    assert!(ended > 0);
    assert_eq!(cluster.grants("bob"), []);
}
