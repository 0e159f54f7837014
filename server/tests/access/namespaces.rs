//! Limits on namespaces: writes to a namespace count, reads do not. These servers allow ten.

use crate::access::calls::{all, commands, ttl};
use crate::access::requests::policy;
use crate::access::service::{Caller, Service, fact, is_forbidden};
use crate::serving::within;
use tenure_proto::v1::client_service_client::ClientServiceClient;
use tenure_proto::v1::*;
use tokio_stream::wrappers::ReceiverStream;
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
    let request =
        CloseSessionRequest { namespace: namespace.into(), session_id: "s".into(), ..CloseSessionRequest::default() };
    within(caller.sessions().close_session(request)).await.map(drop)
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
    }
    open_in(&ann, "of-ann").await.unwrap();
    assert!(service.count("tenure_namespaces") <= 3, "idle namespaces are closed");
}

#[tokio::test]
async fn stream_of_releases_and_cancels_keeps_no_namespace_open() {
    let service = Service::start(&["ann"], &policy("")).await;
    let ann = service.caller("ann").await;
    let (sender, receiver) = tokio::sync::mpsc::channel(100);
    let mut client = ClientServiceClient::new(ann.channel.clone());
    let stream = client.stream(ann.request(ReceiverStream::new(receiver)));
    let mut id = 0;
    for count in 0..30 {
        for (_, mut kind) in commands("job", "s") {
            let namespace = match &mut kind {
                command::Kind::Release(request) => &mut request.namespace,
                command::Kind::CancelAcquire(request) => &mut request.namespace,
                command::Kind::KeepAlive(request) => &mut request.namespace,
                _ => continue,
            };
            *namespace = format!("new-{count}");
            id += 1;
            let command = Command { id, kind: Some(kind), ..Command::default() };
            sender.send(StreamRequest { commands: vec![command] }).await.unwrap();
        }
    }
    let mut answers = within(stream).await.unwrap().into_inner();
    let mut answered = 0;
    while answered < id {
        answered += within(answers.message()).await.unwrap().unwrap().answers.len() as u64;
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
