//! Plain calls of one session that go to several servers, as behind a load balancer.

use std::time::Duration;

use tenure_proto::v1::answer::Kind as Answered;
use tenure_proto::v1::command::Kind;
use tenure_proto::v1::{
    AcquireRequest, AttachSession, CancelAcquireRequest, CancelAcquireResponse, GetLockRequest, OpenSessionRequest,
    Session,
};
use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::calls::cluster::{Caller, Cluster, REATTACH, asking, goes_on, until, within};
use crate::calls::lost_calls::{Leaving, ask, ask_and_leave};
use crate::calls::stream::{ClientStream, refused};

/// An acquire in an open session.
fn in_open(session: &str, name: &str, wait: Option<Duration>) -> AcquireRequest {
    AcquireRequest { ttl: None, ..asking(session, name, wait) }
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
    let (here, elsewhere) = (cluster.caller(0).await, cluster.caller(1).await);
    let token = here.hold("ann", "a").await;
    open(&here, "bob").await;
    let bob = ask(&here, in_open("bob", "a", None));
    here.waiters("a", 1).await;
    elsewhere.renew("bob").await.expect("open");
    let cid = ask(&here, asking("cid", "a", None));
    here.waiters("a", 2).await;
    here.release("ann", "a", token).await.expect("held");
    let granted = within(bob).await.expect("ran").expect("answered");
    assert!(granted.acquired, "{granted:?}");
    let held = Some(("bob".to_owned(), granted.token));
    goes_on("bob holds it", async || elsewhere.renew("bob").await.is_ok() && here.holder("a").await == held).await;
    elsewhere.release("bob", "a", granted.token).await.expect("held");
    assert!(within(cid).await.expect("ran").expect("answered").acquired);
}

#[tokio::test]
async fn wait_continues_while_its_session_is_renewed_at_another_server() {
    let cluster = Cluster::start(2).await;
    let (here, elsewhere) = (cluster.caller(0).await, cluster.caller(1).await);
    here.hold("ann", "a").await;
    open(&here, "bob").await;
    let _waits = ask(&here, in_open("bob", "a", None));
    here.waiters("a", 1).await;
    let renewed = async || elsewhere.renew("bob").await.is_ok() && here.lock("a").await.waiter_count == 1;
    goes_on("bob waits", renewed).await;
}

#[tokio::test]
async fn wait_that_times_out_leaves_no_claim_after_a_renewal_at_another_server() {
    let cluster = Cluster::start(2).await;
    let (here, elsewhere) = (cluster.caller(0).await, cluster.caller(1).await);
    let token = here.hold("ann", "a").await;
    open(&here, "bob").await;
    let bob = ask(&here, in_open("bob", "a", Some(REATTACH / 4)));
    here.waiters("a", 1).await;
    elsewhere.renew("bob").await.expect("open");
    let answer = within(bob).await.expect("ran").expect("answered");
    assert!(!answer.acquired, "{answer:?}");
    assert_eq!(here.lock("a").await.waiter_count, 0, "no claim is left of it");
    here.release("ann", "a", token).await.expect("held");
    assert_eq!(elsewhere.holder("a").await, None);
}

#[tokio::test]
async fn wait_moves_to_the_server_that_receives_the_retry() {
    let cluster = Cluster::start(2).await;
    let (here, elsewhere) = (cluster.caller(0).await, cluster.caller(1).await);
    let token = here.hold("ann", "a").await;
    ask_and_leave(&cluster, asking("bob", "a", None), Leaving::Cancelled, here.waiters("a", 1)).await;
    let again = ask(&elsewhere, asking("bob", "a", None));
    goes_on("bob waits", async || here.lock("a").await.waiter_count == 1).await;
    here.release("ann", "a", token).await.expect("held");
    let granted = within(again).await.expect("ran").expect("answered");
    let held = Some(("bob".to_owned(), granted.token));
    goes_on("bob holds it", async || here.holder("a").await == held).await;
}

#[tokio::test]
async fn hold_that_was_not_returned_is_kept_if_another_server_returns_it() {
    let cluster = Cluster::start(2).await;
    let (here, elsewhere) = (cluster.caller(0).await, cluster.caller(1).await);
    for (session, shows) in [("by Acquire", true), ("by OpenSession", false)] {
        let token = here.hold("ann", session).await;
        ask_and_leave(&cluster, asking(session, session, None), Leaving::Cancelled, here.waiters(session, 1)).await;
        here.release("ann", session, token).await.expect("held");
        let shown = if shows {
            elsewhere.acquire(asking(session, session, None)).await.expect("answered").token
        } else {
            open(&elsewhere, session).await.claims[0].token
        };
        let held = Some((session.to_owned(), shown));
        goes_on("it is held", async || elsewhere.renew(session).await.is_ok() && here.holder(session).await == held)
            .await;
    }
}

#[tokio::test]
async fn hold_that_was_never_returned_ends_despite_renewals_at_another_server() {
    let cluster = Cluster::start(2).await;
    let (here, elsewhere) = (cluster.caller(0).await, cluster.caller(1).await);
    let token = here.hold("ann", "a").await;
    ask_and_leave(&cluster, asking("bob", "a", None), Leaving::Cancelled, here.waiters("a", 1)).await;
    here.release("ann", "a", token).await.expect("held");
    until("the lock is free", async || {
        elsewhere.renew("bob").await.expect("open");
        here.holder("a").await.is_none()
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
    assert_eq!(again.revision, cancelled.revision + 1, "it is recorded once more, and nothing else has happened");
}

#[tokio::test]
async fn acquire_for_an_earlier_session_of_the_same_id_is_rejected() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let opened = open(&caller, "ann").await.opened_revision;
    let meaning = |opened_revision| AcquireRequest { opened_revision, ..asking("ann", "a", Some(Duration::ZERO)) };
    let answer = caller.acquire(meaning(opened)).await.expect("the same session");
    assert_eq!((answer.acquired, answer.opened_revision), (true, opened));
    let close = tenure_proto::v1::CloseSessionRequest { session_id: "ann".to_owned(), ..Default::default() };
    within(caller.sessions().close_session(close)).await.expect("closed");
    let ended = caller.acquire(meaning(opened)).await.expect_err("it has ended");
    assert_eq!((ended.code(), &*reason(&ended)), (Code::FailedPrecondition, "SESSION_ENDED"));
    assert!(caller.session("ann").await.is_err(), "nothing was opened");
    let reopened = open(&caller, "ann").await.opened_revision;
    let other = caller.acquire(meaning(opened)).await.expect_err("another session");
    assert_eq!((other.code(), &*reason(&other)), (Code::FailedPrecondition, "SESSION_REOPENED"));
    let facts = other.get_details_error_info().expect("facts").metadata;
    assert_eq!(facts["opened_revision"], reopened.to_string());
    let bad = caller.acquire(meaning(u64::MAX)).await.expect_err("beyond all revisions");
    assert_eq!(bad.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn open_session_of_one_program_is_rejected_for_another() {
    let cluster = Cluster::start(2).await;
    let opening = |client: &str| {
        Kind::OpenSession(OpenSessionRequest {
            session_id: "pod-0".to_owned(),
            ttl: Some(Duration::from_secs(600).try_into().expect("short")),
            attachment: 1,
            client_id: client.to_owned(),
            ..OpenSessionRequest::default()
        })
    };
    let attach = |client: &str| {
        let (session_id, client_id) = ("pod-0".to_owned(), client.to_owned());
        Kind::AttachSession(AttachSession { session_id, client_id, attachment: 2, ..AttachSession::default() })
    };
    let mut first = ClientStream::open(&cluster.caller(0).await, &[]).await;
    first.send([(1, opening("one"))]).await;
    assert!(matches!(first.answers([1]).await[&1], Answered::OpenSession(_)));
    // At the server of the first client, and at the other one.
    for server in [0, 1] {
        let mut second = ClientStream::open(&cluster.caller(server).await, &[]).await;
        second.send([(1, opening("two")), (2, attach("two"))]).await;
        let answers = second.answers([1, 2]).await;
        assert!(answers.values().all(|answer| refused(answer) == "SESSION_IN_USE"), "{answers:?}");
    }
    // The first client is not affected, and may attach the session anywhere.
    let mut moved = ClientStream::open(&cluster.caller(1).await, &[]).await;
    moved.send([(1, attach("one"))]).await;
    assert!(matches!(moved.answers([1]).await[&1], Answered::AttachedSession(_)));
    assert!(matches!(first.next().await, (0, Answered::SessionMoved(_))), "the first notice that it gets");
}

#[tokio::test]
async fn existing_namespaces_are_opened_past_the_limit() {
    let cluster = Cluster::start(2).await;
    let (here, there) = (cluster.caller(0).await, cluster.caller(1).await);
    let look = async |caller: &Caller, namespace: &str| {
        let request = GetLockRequest { namespace: namespace.to_owned(), name: "job".to_owned() };
        within(caller.locks().get_lock(request)).await.map(|answer| answer.into_inner().lock.expect("a lock"))
    };
    // The first loop only reads namespaces there; then as many as the limit are filled here, and the default one, which
    // always exists.
    for count in 0..30 {
        look(&there, &format!("unused-{count}")).await.expect("read");
    }
    let filled: Vec<String> = (0..10).map(|count| format!("filled-{count}")).chain(["default".to_owned()]).collect();
    for namespace in &filled {
        let request = AcquireRequest { namespace: namespace.clone(), ..asking("ann", "job", Some(Duration::ZERO)) };
        assert!(here.acquire(request).await.expect("answered").acquired);
    }
    for namespace in &filled {
        assert_eq!(look(&there, namespace).await.expect("read").holders[0].session_id, "ann", "{namespace}");
        let request = AcquireRequest { namespace: namespace.clone(), ..asking("bob", "other", Some(Duration::ZERO)) };
        assert!(there.acquire(request).await.expect("answered").acquired, "{namespace}");
    }
    let request = AcquireRequest { namespace: "new".to_owned(), ..asking("bob", "job", Some(Duration::ZERO)) };
    there.acquire(request).await.expect_err("as many as may be");
}
