//! Operations in progress end when they are no longer allowed.

use crate::access::calls::ttl;
use crate::access::requests::{TEAMS, acquire, wait_for_waiters, wait_until_readable};
use crate::access::service::{Caller, Service, fact};
use crate::serving::within;
use tenure_proto::v1::answer::Kind as Answered;
use tenure_proto::v1::client_service_client::ClientServiceClient;
use tenure_proto::v1::command::Kind;
use tenure_proto::v1::*;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status};

#[tokio::test]
async fn operations_in_progress_end_when_the_policy_forbids_them() {
    let service = Service::start(&["ann", "bob"], TEAMS).await;
    let ann = service.caller("ann").await;
    let both = TEAMS.replace("roles = [\"b\"]", "roles = [\"a\", \"b\"]");
    service.change_policy(&both);
    acquire(&ann, "team-a/x", "ann").await.unwrap();
    let bob = service.caller("bob").await;
    wait_until_readable(&bob, "team-a/x").await;

    // A watch and a wait, as plain calls and on a stream, and a wait that continues because it is still allowed.
    let watch = WatchRequest { names: vec!["team-a/x".into()], ..WatchRequest::default() };
    let mut watching = bob.watches().watch(watch.clone()).await.unwrap().into_inner();
    assert!(within(watching.message()).await.unwrap().is_some());
    let waiting = acquire_in_background(&bob, "team-a/x");
    let commands = vec![
        Command { id: 1, kind: Some(Kind::Watch(watch)), ..Command::default() },
        Command {
            id: 2,
            kind: Some(Kind::OpenSession(OpenSessionRequest {
                session_id: "stream".into(),
                ttl: ttl(),
                ..Default::default()
            })),
            ..Command::default()
        },
    ];
    let (requests, outgoing) = tokio::sync::mpsc::channel(2);
    requests.send(StreamRequest { commands }).await.unwrap();
    let mut client = ClientServiceClient::new(bob.channel.clone());
    let stream = client.stream(bob.request(ReceiverStream::new(outgoing)));
    let mut responses = within(stream).await.unwrap().into_inner();
    let mut received = Vec::new();
    receive_until(&mut responses, &mut received, |received| {
        reply_count(received, 1) > 0 && reply_count(received, 2) > 0
    })
    .await;
    let wait =
        AcquireRequest { names: vec!["team-a/x".into()], session_id: "stream".into(), ..AcquireRequest::default() };
    requests
        .send(StreamRequest {
            commands: vec![Command { id: 3, kind: Some(Kind::Acquire(wait)), ..Command::default() }],
        })
        .await
        .unwrap();
    wait_for_waiters(&ann, "team-a/x", 2).await;

    service.change_policy(TEAMS);
    let end = loop {
        match within(watching.message()).await {
            Ok(Some(_)) => {}
            end => break end.unwrap_err(),
        }
    };
    assert_eq!((end.code(), fact(&end, "verb")), (Code::PermissionDenied, "watch".into()));
    let end = within(waiting).await.unwrap().unwrap_err();
    assert_eq!((end.code(), fact(&end, "verb")), (Code::PermissionDenied, "acquire".into()));
    receive_until(&mut responses, &mut received, |received| is_rejected(received, 1) && is_rejected(received, 3)).await;
    acquire(&bob, "team-b/x", "bob-2").await.unwrap();
}

fn acquire_in_background(caller: &Caller, name: &'static str) -> tokio::task::JoinHandle<Result<u64, Status>> {
    let caller = caller.clone();
    tokio::spawn(async move { acquire(&caller, name, "waits").await })
}

async fn receive_until(
    responses: &mut tonic::Streaming<StreamResponse>,
    received: &mut Vec<Answer>,
    is_done: impl Fn(&[Answer]) -> bool,
) {
    while !is_done(received) {
        received.extend(within(responses.message()).await.unwrap().unwrap().answers);
    }
}

fn reply_count(received: &[Answer], id: u64) -> usize {
    received.iter().filter(|answer| answer.id == id).count()
}

fn is_rejected(received: &[Answer], id: u64) -> bool {
    let is_refusal = |answer: &Answer| matches!(&answer.kind, Some(Answered::Refusal(refusal)) if refusal.reason == "PERMISSION_DENIED");
    received.iter().any(|answer| answer.id == id && is_refusal(answer))
}
