//! Limits on namespaces: writes to a namespace count, reads do not. These servers allow ten.

use crate::access::calls::{all, ttl};
use crate::access::requests::policy;
use crate::access::service::{Caller, Service, fact, is_forbidden};
use crate::serving::within;
use tenure_proto::v1::*;
use tonic::{Code, Status};

async fn open_in(caller: &Caller, namespace: &str) -> Result<(), Status> {
    let request = OpenSessionRequest {
        namespace: namespace.into(),
        session_id: "s".into(),
        ttl: ttl(),
        ..OpenSessionRequest::default()
    };
    within(caller.sessions().open_session(request)).await.map(drop)
}

async fn close_in(caller: &Caller, namespace: &str) -> Result<(), Status> {
    let request = CloseSessionRequest { namespace: namespace.into(), session_id: "s".into() };
    within(caller.sessions().close_session(request)).await.map(drop)
}

/// A call about a session that is not open.
async fn give_back(caller: &Caller, namespace: &str, what: &str) -> Result<(), Status> {
    let (namespace, session_id) = (namespace.to_owned(), "s".to_owned());
    match what {
        "Release" => {
            let request = ReleaseRequest { namespace, name: "job".into(), session_id, token: 1 };
            within(caller.locks().release(request)).await.map(drop)
        }
        "CancelAcquire" => {
            let request = CancelAcquireRequest { namespace, names: vec!["job".into()], session_id };
            within(caller.locks().cancel_acquire(request)).await.map(drop)
        }
        _ => within(caller.sessions().renew(RenewRequest { namespace, session_id })).await.map(drop),
    }
}

async fn read_in(caller: &Caller, namespace: &str) -> Result<(), Status> {
    let request = GetLockRequest { namespace: namespace.into(), name: "job".into() };
    within(caller.locks().get_lock(request)).await.map(drop)
}

#[tokio::test]
async fn close_session_without_any_right_is_rejected_and_opens_no_namespace() {
    let service = Service::start(&["ann", "none"], &policy("")).await;
    let (ann, none) = (service.caller("ann").await, service.caller("none").await);
    for count in 0..30 {
        assert!(is_forbidden(&close_in(&none, &format!("new-{count}")).await));
    }
    open_in(&ann, "default").await.unwrap();
    open_in(&ann, "of-ann").await.unwrap();
}

#[tokio::test]
async fn reads_and_releases_do_not_count_against_the_bound_of_namespaces() {
    let service = Service::start(&["ann"], &policy("")).await;
    let ann = service.caller("ann").await;
    for count in 0..30 {
        read_in(&ann, &format!("read-{count}")).await.unwrap();
        close_in(&ann, &format!("closed-{count}")).await.unwrap();
        for what in ["Release", "CancelAcquire", "Renew"] {
            give_back(&ann, &format!("{what}-{count}"), what).await.unwrap_err();
        }
    }
    open_in(&ann, "of-ann").await.unwrap();
    assert!(service.count("tenure_namespaces") <= 3, "idle namespaces are closed");
}

#[tokio::test]
async fn new_namespace_past_the_bound_is_rejected_but_not_those_that_exist() {
    let service = Service::start(&["ann"], &policy("")).await;
    let ann = service.caller("ann").await;
    for count in 0..10 {
        open_in(&ann, &format!("full-{count}")).await.unwrap();
    }
    let refused = open_in(&ann, "one-more").await.unwrap_err();
    assert_eq!((refused.code(), fact(&refused, "limit")), (Code::ResourceExhausted, "namespaces".to_owned()));
    assert_eq!(service.count("tenure_limits_reached_total{limit=\"namespaces\"}"), 1);
    // A namespace that is open because of a read is rejected as well.
    read_in(&ann, "one-more").await.unwrap();
    open_in(&ann, "one-more").await.unwrap_err();
    open_in(&ann, "full-0").await.unwrap();
    open_in(&ann, "default").await.unwrap();
    for call in all().into_iter().filter(|call| call.name.ends_with("GetLock")) {
        within((call.make)(ann.clone(), "job".into(), "s".into())).await.unwrap();
    }
}
