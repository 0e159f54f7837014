//! Limits per identity, on objects and on requests.

use std::time::Duration;

use crate::access::asking::{acquire, answer, policy};
use crate::access::calls::second;
use crate::access::office::{Office, Who, fact, is_forbidden};
use crate::serving::within;
use tenure_proto::v1::answer::Kind as Answered;
use tenure_proto::v1::command::Kind;
use tenure_proto::v1::group_service_client::GroupServiceClient;
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::session_service_client::SessionServiceClient;
use tenure_proto::v1::watch_service_client::WatchServiceClient;
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

async fn open(who: &Who, session: &str) -> Result<(), Status> {
    let request = OpenSessionRequest { session_id: session.into(), ttl: second(), ..OpenSessionRequest::default() };
    within(SessionServiceClient::new(who.channel.clone()).open_session(who.ask(request))).await.map(drop)
}

async fn join(who: &Who, group: &str, session: &str) -> Result<(), Status> {
    let request = JoinGroupRequest { group: group.into(), session_id: session.into(), ..JoinGroupRequest::default() };
    within(GroupServiceClient::new(who.channel.clone()).join_group(who.ask(request))).await.map(drop)
}

async fn watch(who: &Who, name: &str) -> Result<Streaming<WatchResponse>, Status> {
    let request = WatchRequest { names: vec![name.into()], ..WatchRequest::default() };
    let mut watching = within(WatchServiceClient::new(who.channel.clone()).watch(who.ask(request))).await?.into_inner();
    within(watching.message()).await?;
    Ok(watching)
}

#[tokio::test]
async fn an_identity_has_no_more_than_it_may() {
    let limits = limited("sessions = 2\nclaims = 3\nwaiters = 1\nmemberships = 1");
    let office = Office::open(&["ann", "bob"], &limits).await;
    let (ann, bob) = (office.caller("ann").await, office.caller("bob").await);
    let token = acquire(&ann, "a", "first").await.unwrap();
    open(&ann, "second").await.unwrap();
    assert_limited(open(&ann, "third").await, "sessions of this identity", 2);
    assert_limited(acquire(&ann, "b", "third").await, "sessions of this identity", 2);
    assert_eq!(acquire(&ann, "a", "first").await.unwrap(), token, "what is there may be asked for again");
    open(&ann, "first").await.unwrap();

    for name in ["of-bob", "of-bob-too"] {
        acquire(&bob, name, "bob").await.unwrap();
    }
    let waiting = tokio::spawn({
        let ann = ann.clone();
        async move { acquire(&ann, "of-bob", "first").await }
    });
    until_waiting(&ann, "of-bob").await;
    assert_limited(acquire(&ann, "of-bob-too", "second").await, "waiters of this identity", 1);
    acquire(&ann, "b", "second").await.unwrap();
    assert_limited(acquire(&ann, "c", "second").await, "claims of this identity", 3);

    join(&ann, "group", "first").await.unwrap();
    join(&ann, "group", "first").await.unwrap();
    assert_limited(join(&ann, "group", "second").await, "memberships of this identity", 1);

    let limits = ["sessions", "claims", "waiters", "memberships"].map(|what| {
        office.count(&format!("tenure_limits_reached_total{{limit=\"{what} of this identity in the namespace\"}}"))
    });
    assert_eq!(limits, [2, 1, 1, 1]);
    assert_eq!(office.count("tenure_refusals_total{reason=\"LIMIT_REACHED\"}"), 5);

    // Other identities have limits of their own, and released locks can be acquired again.
    for name in ["x", "y", "z"] {
        acquire(&bob, name, "bob-too").await.unwrap();
    }
    let close = CloseSessionRequest { session_id: "first".into(), ..CloseSessionRequest::default() };
    within(SessionServiceClient::new(ann.channel.clone()).close_session(ann.ask(close))).await.unwrap();
    within(waiting).await.unwrap().unwrap_err();
    acquire(&ann, "c", "third").await.unwrap();
    join(&ann, "group", "second").await.unwrap();
}

async fn until_waiting(who: &Who, name: &str) {
    let waiting = async {
        loop {
            let ask = who.ask(GetLockRequest { name: name.into(), ..GetLockRequest::default() });
            let found = LockServiceClient::new(who.channel.clone()).get_lock(ask).await.unwrap().into_inner();
            if !found.lock.unwrap().waiters.is_empty() {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    within(waiting).await;
}

#[tokio::test]
async fn a_stream_gives_no_more_either() {
    let office = Office::open(&["ann"], &limited("sessions = 1\nwatches = 0")).await;
    let ann = office.caller("ann").await;
    open(&ann, "first").await.unwrap();
    let second = OpenSessionRequest { session_id: "second".into(), ttl: second(), ..OpenSessionRequest::default() };
    let watch = WatchRequest { names: vec!["a".into()], ..WatchRequest::default() };
    for (kind, what) in [(Kind::OpenSession(second), "sessions of this"), (Kind::Watch(watch), "watches of this")] {
        let Answered::Refusal(refusal) = answer(&ann, kind).await else { panic!("{what} is not refused") };
        assert_eq!((refusal.code, &*refusal.reason), (Code::ResourceExhausted as i32, "LIMIT_REACHED"));
        assert!(refusal.metadata["limit"].starts_with(what), "{refusal:?}");
    }
    assert_eq!(office.count("tenure_refusals_total{reason=\"LIMIT_REACHED\"}"), 2);
}

#[tokio::test]
async fn watches_are_counted_as_long_as_they_are_there() {
    let office = Office::open(&["ann"], &limited("watches = 2")).await;
    let ann = office.caller("ann").await;
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
async fn who_asks_too_often_is_told_when_to_ask_again_and_still_renews() {
    let office = Office::open(&["ann", "bob"], &limited("requests_per_second = 2")).await;
    let ann = office.caller("ann").await;
    let token = acquire(&ann, "a", "first").await.unwrap();
    let refused = loop {
        if let Err(refused) = open(&ann, "first").await {
            break refused;
        }
    };
    assert_eq!(refused.code(), Code::ResourceExhausted);
    let reason = refused.get_details_error_info().expect("a reason").reason;
    assert_eq!((&*reason, fact(&refused, "bound")), ("OVERLOADED", "2".into()));
    assert!(fact(&refused, "limit").starts_with("requests per second"), "{refused:?}");
    let wait = refused.get_details_retry_info().unwrap().retry_delay.unwrap();
    assert!(!wait.is_zero() && wait <= Duration::from_millis(500), "{wait:?}");

    // Renewals and releases are accepted, however many requests the identity has sent.
    let mut sessions = SessionServiceClient::new(ann.channel.clone());
    for _ in 0..20 {
        let renew = RenewRequest { session_id: "first".into(), ..RenewRequest::default() };
        within(sessions.renew(ann.ask(renew))).await.unwrap();
    }
    let release = ReleaseRequest { name: "a".into(), session_id: "first".into(), token, ..ReleaseRequest::default() };
    within(LockServiceClient::new(ann.channel.clone()).release(ann.ask(release))).await.unwrap();
    let bob = office.caller("bob").await;
    for _ in 0..20 {
        open(&bob, "bob").await.unwrap();
    }
}

#[tokio::test]
async fn limits_are_for_a_namespace_and_can_be_changed() {
    let office = Office::open(&["ann"], &limited("sessions = 0\nnamespaces = [\"default\"]")).await;
    let ann = office.caller("ann").await;
    let elsewhere = OpenSessionRequest {
        namespace: "blue".into(),
        session_id: "first".into(),
        ttl: second(),
        ..OpenSessionRequest::default()
    };
    within(SessionServiceClient::new(ann.channel.clone()).open_session(ann.ask(elsewhere))).await.unwrap();
    assert_limited(open(&ann, "first").await, "sessions of this identity", 0);
    office.change_policy(&limited("sessions = 1"));
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
async fn metadata_is_not_updated_faster_than_history_may_grow() {
    let office = Office::open(&["ann"], &limited("history_bytes_per_second = 10000")).await;
    let ann = office.caller("ann").await;
    let token = acquire(&ann, "a", "first").await.unwrap();
    let mut locks = LockServiceClient::new(ann.channel.clone());
    let large = UpdateClaimRequest {
        name: "a".into(),
        session_id: "first".into(),
        token,
        metadata: [("key".to_owned(), "x".repeat(3_000))].into(),
        ..UpdateClaimRequest::default()
    };
    let refused = loop {
        if let Err(refused) = within(locks.update_claim(ann.ask(large.clone()))).await {
            break refused;
        }
    };
    assert_eq!((refused.code(), fact(&refused, "bound")), (Code::ResourceExhausted, "10000".to_owned()));
    assert!(fact(&refused, "limit").starts_with("history bytes per second"), "{refused:?}");
    assert!(refused.get_details_retry_info().and_then(|advice| advice.retry_delay).is_some_and(|wait| !wait.is_zero()));
    // Reads, renewals and releases still succeed.
    let read = GetLockRequest { name: "a".into(), ..GetLockRequest::default() };
    within(locks.get_lock(ann.ask(read))).await.unwrap();
    let release = ReleaseRequest { name: "a".into(), session_id: "first".into(), token, ..ReleaseRequest::default() };
    within(locks.release(ann.ask(release))).await.unwrap();
    let series = "tenure_limits_reached_total{limit=\"history bytes per second of this identity in the namespace at this server\"}";
    assert!(office.count(series) >= 1);
}
