//! Plain calls of one session that go to several servers, as behind a load balancer.

use std::time::Duration;

use tenure_proto::v1::{
    AcquireRequest, CancelAcquireRequest, CancelAcquireResponse, EvictRequest, GetLockRequest, OpenSessionRequest,
    Session,
};
use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::calls::cluster::{Caller, Cluster, WAIT, acquire_request, assert_stays, until};
use crate::calls::lost_calls::{Abandonment, acquire_and_abandon, ask};
use crate::serving::within;

/// An acquire in an open session.
fn in_open(session: &str, name: &str, wait: Option<Duration>) -> AcquireRequest {
    AcquireRequest { ttl: None, ..acquire_request(session, name, wait) }
}

async fn open(caller: &Caller, session: &str) -> Session {
    let request = OpenSessionRequest {
        session_id: session.to_owned(),
        ttl: Some(Duration::from_secs(600).try_into().expect("short")),
        ..OpenSessionRequest::default()
    };
    within(caller.sessions().open_session(request)).await.expect("opened").into_inner().session.expect("a session")
}

async fn cancel(caller: &Caller, session: &str, name: &str) -> Result<CancelAcquireResponse, Status> {
    let (names, session_id) = (vec![name.to_owned()], session.to_owned());
    let request = CancelAcquireRequest { names, session_id, ..CancelAcquireRequest::default() };
    within(caller.locks().cancel_acquire(request)).await.map(tonic::Response::into_inner)
}

fn reason(status: &Status) -> String {
    status.get_details_error_info().expect("an ErrorInfo").reason
}

#[tokio::test]
async fn hold_granted_to_a_call_survives_renewals_at_another_server() {
    let cluster = Cluster::start(2).await;
    let (first, second) = (cluster.caller(0).await, cluster.caller(1).await);
    let token = first.hold("ann", "a").await;
    open(&first, "bob").await;
    let bob = ask(&first, in_open("bob", "a", None));
    first.wait_for_waiters("a", 1).await;
    second.renew("bob").await.expect("open");
    let cid = ask(&first, acquire_request("cid", "a", None));
    first.wait_for_waiters("a", 2).await;
    first.release("ann", "a", token).await.expect("held");
    let granted = within(bob).await.expect("ran").expect("answered");
    assert!(granted.acquired, "{granted:?}");
    let held = Some(("bob".to_owned(), granted.token));
    assert_stays("bob holds it", async || second.renew("bob").await.is_ok() && first.holder("a").await == held).await;
    second.release("bob", "a", granted.token).await.expect("held");
    assert!(within(cid).await.expect("ran").expect("answered").acquired);
}

#[tokio::test]
async fn renewal_returns_the_tokens_of_what_the_session_holds() {
    let cluster = Cluster::start(2).await;
    let (first, second) = (cluster.caller(0).await, cluster.caller(1).await);
    let (a, b) = (first.hold("ann", "a").await, first.hold("ann", "b").await);
    first.hold("bob", "c").await;
    let waiting = ask(&first, acquire_request("ann", "c", None));
    first.wait_for_waiters("c", 1).await;
    assert_eq!(first.renew("ann").await.expect("open"), [a, b]);
    let evict = EvictRequest { name: "a".to_owned(), operator: "op".to_owned(), ..EvictRequest::default() };
    within(second.locks().evict(evict)).await.expect("evicted");
    assert_eq!(first.renew("ann").await.expect("open"), [b], "at its home");
    assert_eq!(second.renew("ann").await.expect("open"), [b], "at a server that becomes its home");
    waiting.abort();
}

#[tokio::test]
async fn wait_continues_while_its_session_is_renewed_at_another_server() {
    let cluster = Cluster::start(2).await;
    let (first, second) = (cluster.caller(0).await, cluster.caller(1).await);
    first.hold("ann", "a").await;
    open(&first, "bob").await;
    let _waits = ask(&first, in_open("bob", "a", None));
    first.wait_for_waiters("a", 1).await;
    let renewed = async || second.renew("bob").await.is_ok() && first.lock("a").await.waiter_count == 1;
    assert_stays("bob waits", renewed).await;
}

#[tokio::test]
async fn wait_that_times_out_leaves_no_claim_after_a_renewal_at_another_server() {
    let cluster = Cluster::start(2).await;
    let (first, second) = (cluster.caller(0).await, cluster.caller(1).await);
    let token = first.hold("ann", "a").await;
    open(&first, "bob").await;
    let bob = ask(&first, in_open("bob", "a", Some(WAIT)));
    first.wait_for_waiters("a", 1).await;
    second.renew("bob").await.expect("open");
    let answer = within(bob).await.expect("ran").expect("answered");
    assert!(!answer.acquired, "{answer:?}");
    assert_eq!(first.lock("a").await.waiter_count, 0, "its claim has ended");
    first.release("ann", "a", token).await.expect("held");
    assert_eq!(second.holder("a").await, None);
}

#[tokio::test]
async fn wait_moves_to_the_server_that_receives_the_retry() {
    let cluster = Cluster::start(2).await;
    let (first, second) = (cluster.caller(0).await, cluster.caller(1).await);
    let token = first.hold("ann", "a").await;
    acquire_and_abandon(
        &cluster,
        acquire_request("bob", "a", None),
        Abandonment::Cancelled,
        first.wait_for_waiters("a", 1),
    )
    .await;
    let again = ask(&second, acquire_request("bob", "a", None));
    assert_stays("bob waits", async || first.lock("a").await.waiter_count == 1).await;
    first.release("ann", "a", token).await.expect("held");
    let granted = within(again).await.expect("ran").expect("answered");
    let held = Some(("bob".to_owned(), granted.token));
    assert_stays("bob holds it", async || first.holder("a").await == held).await;
}

#[tokio::test]
async fn hold_that_was_not_returned_is_kept_if_another_server_returns_it() {
    let cluster = Cluster::start(2).await;
    let (first, second) = (cluster.caller(0).await, cluster.caller(1).await);
    for (session, by_acquire) in [("by-acquire", true), ("by-open-session", false)] {
        let token = first.hold("ann", session).await;
        acquire_and_abandon(
            &cluster,
            acquire_request(session, session, None),
            Abandonment::Cancelled,
            first.wait_for_waiters(session, 1),
        )
        .await;
        first.release("ann", session, token).await.expect("held");
        let token = if by_acquire {
            second.acquire(acquire_request(session, session, None)).await.expect("answered").token
        } else {
            open(&second, session).await.claims[0].token
        };
        let held = Some((session.to_owned(), token));
        assert_stays("it is held", async || second.renew(session).await.is_ok() && first.holder(session).await == held)
            .await;
    }
}

#[tokio::test]
async fn hold_that_was_never_returned_ends_despite_renewals_at_another_server() {
    let cluster = Cluster::start(2).await;
    let (first, second) = (cluster.caller(0).await, cluster.caller(1).await);
    let token = first.hold("ann", "a").await;
    acquire_and_abandon(
        &cluster,
        acquire_request("bob", "a", None),
        Abandonment::Cancelled,
        first.wait_for_waiters("a", 1),
    )
    .await;
    first.release("ann", "a", token).await.expect("held");
    until("the lock is free", async || {
        second.renew("bob").await.expect("open");
        first.holder("a").await.is_none()
    })
    .await;
}

#[tokio::test]
async fn cancel_returns_the_revision_that_ended_the_claim() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    caller.hold("ann", "a").await;
    let (before, cancelled) = (caller.lock_revision("a").await, cancel(&caller, "ann", "a").await.expect("cancelled"));
    assert!(cancelled.revision > before, "{cancelled:?}");
    let again = cancel(&caller, "ann", "a").await.expect("cancelled");
    assert_eq!(again.revision, cancelled.revision + 1, "the cancel is recorded once more, and nothing else changes");
}

#[tokio::test]
async fn acquire_for_an_earlier_session_of_the_same_id_is_rejected() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let opened = open(&caller, "ann").await.opened_revision;
    let of_session =
        |opened_revision| AcquireRequest { opened_revision, ..acquire_request("ann", "a", Some(Duration::ZERO)) };
    let answer = caller.acquire(of_session(opened)).await.expect("the same session");
    assert_eq!((answer.acquired, answer.opened_revision), (true, opened));
    let close = tenure_proto::v1::CloseSessionRequest { session_id: "ann".to_owned(), ..Default::default() };
    within(caller.sessions().close_session(close)).await.expect("closed");
    let ended = caller.acquire(of_session(opened)).await.expect_err("the session has ended");
    assert_eq!((ended.code(), &*reason(&ended)), (Code::FailedPrecondition, "SESSION_ENDED"));
    assert!(caller.session("ann").await.is_err(), "nothing was opened");
    let reopened = open(&caller, "ann").await.opened_revision;
    let other = caller.acquire(of_session(opened)).await.expect_err("another session");
    assert_eq!((other.code(), &*reason(&other)), (Code::FailedPrecondition, "SESSION_REOPENED"));
    let facts = other.get_details_error_info().expect("facts").metadata;
    assert_eq!(facts["opened_revision"], reopened.to_string());
    let bad = caller.acquire(of_session(u64::MAX)).await.expect_err("beyond all revisions");
    assert_eq!(bad.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn existing_namespaces_are_opened_past_the_limit() {
    let cluster = Cluster::start(2).await;
    let (first, second) = (cluster.caller(0).await, cluster.caller(1).await);
    let look = async |caller: &Caller, namespace: &str| {
        let request = GetLockRequest { namespace: namespace.to_owned(), name: "job".to_owned() };
        within(caller.locks().get_lock(request)).await.map(|answer| answer.into_inner().lock.expect("a lock"))
    };
    // Reads at the second server open no namespaces there. Then the first server fills as many as the limit, and the
    // default one, which always exists.
    for count in 0..30 {
        look(&second, &format!("unused-{count}")).await.expect("read");
    }
    let filled: Vec<String> = (0..10).map(|count| format!("filled-{count}")).chain(["default".to_owned()]).collect();
    for namespace in &filled {
        let request =
            AcquireRequest { namespace: namespace.clone(), ..acquire_request("ann", "job", Some(Duration::ZERO)) };
        assert!(first.acquire(request).await.expect("answered").acquired);
    }
    for namespace in &filled {
        assert_eq!(look(&second, namespace).await.expect("read").holders[0].session_id, "ann", "{namespace}");
        let request =
            AcquireRequest { namespace: namespace.clone(), ..acquire_request("bob", "other", Some(Duration::ZERO)) };
        assert!(second.acquire(request).await.expect("answered").acquired, "{namespace}");
    }
    let request = AcquireRequest { namespace: "new".to_owned(), ..acquire_request("bob", "job", Some(Duration::ZERO)) };
    second.acquire(request).await.expect_err("past the limit");
}
