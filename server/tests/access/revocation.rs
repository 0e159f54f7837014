//! Operations in progress end when they are no longer allowed.

use crate::access::calls::second;
use crate::access::requests::{TEAMS, acquire, until_readable, until_waiting};
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
    until_readable(&bob, "team-a/x").await;

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
                ttl: second(),
                ..Default::default()
            })),
            ..Command::default()
        },
    ];
    let (requests, outgoing) = tokio::sync::mpsc::channel(2);
    requests.send(StreamRequest { commands }).await.unwrap();
    let mut client = ClientServiceClient::new(bob.channel.clone());
    let stream = client.stream(bob.ask(ReceiverStream::new(outgoing)));
    let mut responses = within(stream).await.unwrap().into_inner();
    let mut told = Vec::new();
    until_told(&mut responses, &mut told, |told| answers(told, 1) > 0 && answers(told, 2) > 0).await;
    let wait =
        AcquireRequest { names: vec!["team-a/x".into()], session_id: "stream".into(), ..AcquireRequest::default() };
    requests
        .send(StreamRequest {
            commands: vec![Command { id: 3, kind: Some(Kind::Acquire(wait)), ..Command::default() }],
        })
        .await
        .unwrap();
    until_waiting(&ann, "team-a/x", 2).await;

    service.change_policy(TEAMS);
    let ended = loop {
        match within(watching.message()).await {
            Ok(Some(_)) => {}
            ended => break ended.unwrap_err(),
        }
    };
    assert_eq!((ended.code(), fact(&ended, "verb")), (Code::PermissionDenied, "watch".into()));
    let ended = within(waiting).await.unwrap().unwrap_err();
    assert_eq!((ended.code(), fact(&ended, "verb")), (Code::PermissionDenied, "acquire".into()));
    until_told(&mut responses, &mut told, |told| refused(told, 1) && refused(told, 3)).await;
    acquire(&bob, "team-b/x", "bob-too").await.unwrap();
}

fn acquire_in_background(caller: &Caller, name: &'static str) -> tokio::task::JoinHandle<Result<u64, Status>> {
    let caller = caller.clone();
    tokio::spawn(async move { acquire(&caller, name, "waits").await })
}

async fn until_told(
    responses: &mut tonic::Streaming<StreamResponse>,
    told: &mut Vec<Answer>,
    enough: impl Fn(&[Answer]) -> bool,
) {
    while !enough(told) {
        told.extend(within(responses.message()).await.unwrap().unwrap().answers);
    }
}

fn answers(told: &[Answer], id: u64) -> usize {
    told.iter().filter(|answer| answer.id == id).count()
}

fn refused(told: &[Answer], id: u64) -> bool {
    let is_refusal = |answer: &Answer| matches!(&answer.kind, Some(Answered::Refusal(refusal)) if refusal.reason == "PERMISSION_DENIED");
    told.iter().any(|answer| answer.id == id && is_refusal(answer))
}
