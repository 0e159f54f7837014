//! Lost replies: a retry gets the same reply.

use std::time::Duration;

use tenure_proto::v1::{AcquireRequest, TransferRequest, TransferResponse};
use tonic::Status;

use crate::calls::cluster::{Caller, Cluster, acquire_request, assert_stays, until};
use crate::calls::lost_calls::{ABANDONMENTS, acquire_and_abandon, ask, assert_only_grant};
use crate::serving::within;

#[tokio::test]
async fn immediate_grant_is_returned_again_after_a_lost_reply() {
    for abandonment in ABANDONMENTS {
        let cluster = Cluster::start(1).await;
        let hold = cluster.database.hold_appends();
        acquire_and_abandon(&cluster, acquire_request("ann", "a", None), abandonment, hold.reached()).await;
        drop(hold);
        let caller = cluster.caller(0).await;
        until("granted", async || caller.holder("a").await.is_some()).await;
        let again = caller.acquire(acquire_request("ann", "a", None)).await.expect("answered");
        assert_only_grant(&again, &cluster.grants("ann"));
        assert_stays("the hold", async || caller.holder("a").await == Some(("ann".into(), again.token))).await;
    }
}

#[tokio::test]
async fn immediate_grant_is_undone_without_a_retry() {
    for abandonment in ABANDONMENTS {
        let cluster = Cluster::start(1).await;
        let hold = cluster.database.hold_appends();
        // The reply may be sent just before the server detects that the caller is gone: then the end of the session is
        // the bound.
        let ttl = Some(prost_types::Duration { seconds: 2, nanos: 0 });
        let request = AcquireRequest { ttl, ..acquire_request("ann", "a", None) };
        acquire_and_abandon(&cluster, request, abandonment, hold.reached()).await;
        drop(hold);
        let caller = cluster.caller(0).await;
        let next = caller.acquire(acquire_request("bob", "a", None)).await.expect("answered");
        assert_only_grant(&next, &cluster.grants("bob"));
        let session = caller.session("ann").await;
        assert!(session.is_err() || session.is_ok_and(|session| session.claims.is_empty()), "no claim is left");
    }
}

#[tokio::test]
async fn grant_after_a_wait_is_returned_again_after_a_lost_reply() {
    for abandonment in ABANDONMENTS {
        let cluster = Cluster::start(1).await;
        let caller = cluster.caller(0).await;
        let token = caller.hold("ann", "a").await;
        let queued = caller.wait_for_waiters("a", 1);
        // The caller abandons the call while the append with the grant hangs.
        let hold = tokio::sync::OnceCell::new();
        let releasing = tokio::sync::OnceCell::new();
        let granting = async {
            queued.await;
            let hold = hold.get_or_init(async || cluster.database.hold_appends()).await;
            let caller = caller.clone();
            let release = async || tokio::spawn(async move { caller.release("ann", "a", token).await });
            releasing.get_or_init(release).await;
            hold.reached().await;
        };
        Box::pin(acquire_and_abandon(&cluster, acquire_request("bob", "a", None), abandonment, granting)).await;
        drop(hold);
        within(releasing.into_inner().expect("released")).await.expect("ran").expect("held");
        let again = caller.acquire(acquire_request("bob", "a", None)).await.expect("answered");
        assert_only_grant(&again, &cluster.grants("bob"));
        assert_stays("the hold", async || caller.holder("a").await == Some(("bob".into(), again.token))).await;
    }
}

#[tokio::test]
async fn busy_reply_is_the_same_when_the_acquire_is_repeated() {
    let cluster = Cluster::start(2).await;
    let (caller, other) = (cluster.caller(0).await, cluster.caller(1).await);
    let token = caller.hold("ann", "a").await;
    let revision = caller.acquire(acquire_request("bob", "a", Some(Duration::ZERO))).await.expect("answered").revision;
    for caller in [&caller, &other, &caller] {
        let again = caller.acquire(acquire_request("bob", "a", Some(Duration::ZERO))).await.expect("answered");
        let holder = again.holder.expect("a holder");
        assert_eq!((again.acquired, holder.token, holder.session_id.as_str()), (false, token, "ann"));
        assert_eq!(again.revision, revision, "no change");
    }
    caller.session("bob").await.expect_err("an acquire without a grant opens no session");
}

#[tokio::test]
async fn release_can_be_repeated_after_a_lost_reply() {
    let cluster = Cluster::start(2).await;
    let caller = cluster.caller(0).await;
    let token = caller.hold("ann", "a").await;
    let hold = cluster.database.hold_appends();
    let leaving = cluster.caller(0).await;
    let release = leaving.clone();
    let lost = tokio::spawn(async move { release.release("ann", "a", token).await });
    hold.reached().await;
    lost.abort();
    leaving.flush().await;
    drop(hold);
    for caller in [caller, cluster.caller(1).await] {
        caller.release("ann", "a", token).await.expect("it has taken effect");
        assert_eq!(caller.holder("a").await, None);
    }
}

fn handoff(token: u64, by_holder: bool) -> TransferRequest {
    let (session_id, operator) = if by_holder { ("ann", "") } else { ("", "ops") };
    let (session_id, operator) = (session_id.to_owned(), operator.to_owned());
    TransferRequest { name: "a".into(), token, session_id, operator, ..TransferRequest::default() }
}

async fn transfer(caller: Caller, request: TransferRequest) -> Result<TransferResponse, Status> {
    Ok(within(caller.locks().transfer(request)).await?.into_inner())
}

#[tokio::test]
async fn handoff_can_be_repeated_after_a_lost_reply() {
    for by_holder in [true, false] {
        let cluster = Cluster::start(2).await;
        let caller = cluster.caller(0).await;
        let token = caller.hold("ann", "a").await;
        let bob = ask(&caller, acquire_request("bob", "a", None));
        caller.wait_for_waiters("a", 1).await;
        let leaving = cluster.caller(0).await;
        let hold = by_holder.then(|| cluster.database.hold_appends());
        let lost = tokio::spawn(transfer(leaving.clone(), handoff(token, by_holder)));
        match &hold {
            Some(hold) => hold.reached().await,
            None => until("requested", async || caller.lock("a").await.holders[0].transfer.is_some()).await,
        }
        lost.abort();
        leaving.flush().await;
        if hold.is_none() {
            caller.release("ann", "a", token).await.expect("the release confirms the handoff");
        }
        drop(hold);
        let next = within(bob).await.expect("ran").expect("answered");
        assert_only_grant(&next, &cluster.grants("bob"));
        for caller in [caller, cluster.caller(1).await] {
            let again = transfer(caller.clone(), handoff(token, by_holder)).await.expect("it has taken effect");
            let previous = again.previous.expect("the hold that ended");
            assert_eq!((again.token, previous.token), (next.token, token));
            assert_eq!(caller.holder("a").await, Some(("bob".into(), next.token)));
        }
        assert_eq!(cluster.grants("bob").len(), 1);
    }
}
