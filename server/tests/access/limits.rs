//! Limits per identity, on objects and on requests.

use std::time::Duration;

use crate::access::calls::ttl;
use crate::access::requests::{acquire, get_lock, policy, wait_for_waiters};
use crate::access::service::{Caller, Service, fact, is_forbidden};
use crate::serving::within;
use tenure_proto::v1::*;
use tonic::{Code, Status, Streaming};
use tonic_types::StatusExt;

/// A policy with rights on everything for `ann` and `bob`, and these limits for `ann`.
fn limited(limits: &str) -> String {
    policy("") + "[[grants]]\nidentity = \"token:bob\"\nroles = [\"acquire\"]\n" + &limits_of_ann(limits)
}

fn limits_of_ann(limits: &str) -> String {
    format!("[[limits]]\nidentity = \"token:ann\"\n{limits}\n")
}

/// Asserts that a call is rejected because of this limit, with advice on when to retry.
fn assert_limited<T: std::fmt::Debug>(answer: Result<T, Status>, what: &str, bound: u32) {
    let refused = answer.expect_err(what);
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
    let reason = refused.get_details_error_info().expect("a reason").reason;
    assert_eq!((&*reason, fact(&refused, "bound")), ("LIMIT_REACHED", bound.to_string()));
    assert!(fact(&refused, "limit").starts_with(what), "{}", fact(&refused, "limit"));
    assert!(refused.get_details_retry_info().and_then(|advice| advice.retry_delay).is_some_and(|wait| !wait.is_zero()));
}

async fn open(caller: &Caller, session: &str) -> Result<(), Status> {
    let request = OpenSessionRequest { session_id: session.into(), ttl: ttl(), ..OpenSessionRequest::default() };
    within(caller.sessions().open_session(request)).await.map(drop)
}

async fn join(caller: &Caller, group: &str, session: &str) -> Result<(), Status> {
    let request = JoinGroupRequest { group: group.into(), session_id: session.into(), ..JoinGroupRequest::default() };
    within(caller.groups().join_group(request)).await.map(drop)
}

async fn watch(caller: &Caller, name: &str) -> Result<Streaming<WatchResponse>, Status> {
    let request = WatchRequest { names: vec![name.into()], ..WatchRequest::default() };
    let mut watching = within(caller.watches().watch(request)).await?.into_inner();
    within(watching.message()).await?;
    Ok(watching)
}

#[tokio::test]
async fn limits_of_an_identity_are_enforced_on_calls() {
    let limits = limited("sessions = 2\nclaims = 3\nwaiters = 1\nmemberships = 1");
    let service = Service::start(&["ann", "bob"], &limits).await;
    let (ann, bob) = (service.caller("ann").await, service.caller("bob").await);
    let token = acquire(&ann, "a", "first").await.unwrap();
    open(&ann, "second").await.unwrap();
    assert_limited(open(&ann, "third").await, "sessions of this identity", 2);
    assert_limited(acquire(&ann, "b", "third").await, "sessions of this identity", 2);
    assert_eq!(acquire(&ann, "a", "first").await.unwrap(), token, "an existing hold can be acquired again");
    open(&ann, "first").await.unwrap();

    for name in ["of-bob", "of-bob-2"] {
        acquire(&bob, name, "bob").await.unwrap();
    }
    let waiting = tokio::spawn({
        let ann = ann.clone();
        async move { acquire(&ann, "of-bob", "first").await }
    });
    wait_for_waiters(&ann, "of-bob", 1).await;
    assert_limited(acquire(&ann, "of-bob-2", "second").await, "waiters of this identity", 1);
    acquire(&ann, "b", "second").await.unwrap();
    assert_limited(acquire(&ann, "c", "second").await, "claims of this identity", 3);

    join(&ann, "group", "first").await.unwrap();
    join(&ann, "group", "first").await.unwrap();
    assert_limited(join(&ann, "group", "second").await, "memberships of this identity", 1);

    let limits = ["sessions", "claims", "waiters", "memberships"].map(|what| {
        service.count(&format!("tenure_limits_reached_total{{limit=\"{what} of this identity in the namespace\"}}"))
    });
    assert_eq!(limits, [2, 1, 1, 1]);
    assert_eq!(service.count("tenure_refusals_total{reason=\"LIMIT_REACHED\"}"), 5);

    // Other identities have limits of their own, and released locks can be acquired again.
    for name in ["x", "y", "z"] {
        acquire(&bob, name, "bob-2").await.unwrap();
    }
    let close = CloseSessionRequest { session_id: "first".into(), ..CloseSessionRequest::default() };
    within(ann.sessions().close_session(close)).await.unwrap();
    within(waiting).await.unwrap().unwrap_err();
    acquire(&ann, "c", "third").await.unwrap();
    join(&ann, "group", "second").await.unwrap();
}

#[tokio::test]
async fn watches_are_limited_while_they_are_open() {
    let service = Service::start(&["ann"], &limited("watches = 2")).await;
    let ann = service.caller("ann").await;
    let (first, _second) = (watch(&ann, "a").await.unwrap(), watch(&ann, "b").await.unwrap());
    assert_limited(watch(&ann, "c").await, "watches of this identity", 2);
    drop(first);
    let again = async {
        loop {
            match watch(&ann, "c").await {
                Ok(watching) => return watching,
                refused => assert_limited(refused, "watches of this identity", 2),
            }
        }
    };
    let _third = within(again).await;
    assert_limited(watch(&ann, "d").await, "watches of this identity", 2);
}

#[tokio::test]
async fn requests_past_the_rate_limit_are_rejected_with_a_retry_delay_but_not_renewals() {
    let service = Service::start(&["ann", "bob"], &limited("requests_per_second = 2")).await;
    let ann = service.caller("ann").await;
    let token = acquire(&ann, "a", "first").await.unwrap();
    let refused = within(async {
        loop {
            if let Err(refused) = open(&ann, "first").await {
                return refused;
            }
        }
    })
    .await;
    assert_eq!(refused.code(), Code::ResourceExhausted);
    let reason = refused.get_details_error_info().expect("a reason").reason;
    assert_eq!((&*reason, fact(&refused, "bound")), ("OVERLOADED", "2".into()));
    assert!(fact(&refused, "limit").starts_with("requests per second"), "{refused:?}");
    let wait = refused.get_details_retry_info().unwrap().retry_delay.unwrap();
    assert!(!wait.is_zero() && wait <= Duration::from_millis(500), "{wait:?}");

    // Renewals and releases are accepted, however many requests the identity has sent.
    for _ in 0..20 {
        let renew = RenewRequest { session_id: "first".into(), ..RenewRequest::default() };
        within(ann.sessions().renew(renew)).await.unwrap();
    }
    let release = ReleaseRequest { name: "a".into(), session_id: "first".into(), token, ..ReleaseRequest::default() };
    within(ann.locks().release(release)).await.unwrap();
    let bob = service.caller("bob").await;
    for _ in 0..20 {
        open(&bob, "bob").await.unwrap();
    }
}

#[tokio::test]
async fn limits_apply_to_a_namespace_and_can_be_changed() {
    let service = Service::start(&["ann"], &limited("sessions = 0\nnamespaces = [\"default\"]")).await;
    let ann = service.caller("ann").await;
    let in_blue = OpenSessionRequest {
        namespace: "blue".into(),
        session_id: "first".into(),
        ttl: ttl(),
        ..OpenSessionRequest::default()
    };
    within(ann.sessions().open_session(in_blue)).await.unwrap();
    assert_limited(open(&ann, "first").await, "sessions of this identity", 0);
    service.change_policy(&limited("sessions = 1"));
    let opened = async {
        while let Err(refused) = open(&ann, "first").await {
            assert!(!is_forbidden(&Err(refused)));
            tokio::task::yield_now().await;
        }
    };
    within(opened).await;
    assert_limited(open(&ann, "second").await, "sessions of this identity", 1);
}

#[tokio::test]
async fn updates_of_labels_past_the_limit_of_history_growth_are_rejected() {
    let service = Service::start(&["ann"], &limited("history_bytes_per_second = 10000")).await;
    let ann = service.caller("ann").await;
    let token = acquire(&ann, "a", "first").await.unwrap();
    let large = UpdateClaimRequest {
        name: "a".into(),
        session_id: "first".into(),
        token,
        metadata: [("key".to_owned(), "x".repeat(3_000))].into(),
        ..UpdateClaimRequest::default()
    };
    let refused = within(async {
        loop {
            if let Err(refused) = ann.locks().update_claim(large.clone()).await {
                return refused;
            }
        }
    })
    .await;
    assert_eq!((refused.code(), fact(&refused, "bound")), (Code::ResourceExhausted, "10000".to_owned()));
    assert!(fact(&refused, "limit").starts_with("history bytes per second"), "{refused:?}");
    assert!(refused.get_details_retry_info().and_then(|advice| advice.retry_delay).is_some_and(|wait| !wait.is_zero()));
    // Reads, renewals and releases still succeed.
    get_lock(&ann, "a").await.unwrap();
    let release = ReleaseRequest { name: "a".into(), session_id: "first".into(), token, ..ReleaseRequest::default() };
    within(ann.locks().release(release)).await.unwrap();
    let series = "tenure_limits_reached_total{limit=\"history bytes per second of this identity in the namespace at this server\"}";
    assert!(service.count(series) >= 1);
}
