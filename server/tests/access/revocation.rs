//! Operations in progress end when they are no longer allowed.

use crate::access::calls::ttl;
use crate::access::requests::{TEAMS, acquire, wait_for_waiters, wait_until_readable};
use crate::access::service::{Caller, Service, fact};
use crate::serving::within;
use tenure_proto::v1::client_service_client::ClientServiceClient;
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

    // A watch, a wait by a plain call, and two waits on a stream, of which one is still allowed later.
    let watch = WatchRequest { names: vec!["team-a/x".into()], ..WatchRequest::default() };
    let mut watching = bob.watches().watch(watch.clone()).await.unwrap().into_inner();
    assert!(within(watching.message()).await.unwrap().is_some());
    let waiting = acquire_in_background(&bob, "team-a/x");
    let open = Some(DeclaredSession { session_id: "stream".into(), ttl: ttl(), ..DeclaredSession::default() });
    let wait = |number, name: &str| DeclaredClaim {
        number,
        names: vec![name.to_owned()],
        queue: true,
        ..DeclaredClaim::default()
    };
    let claims = vec![wait(2, "team-a/x"), wait(3, "team-b/y")];
    let declared = vec![Declaration { session: 1, open, claims, ..Declaration::default() }];
    let hello = Hello { client_id: "bob's client, of this test".into(), epoch: 1, declared, ..Hello::default() };
    let (requests, outgoing) = tokio::sync::mpsc::channel(2);
    requests.send(ConnectRequest { kind: Some(connect_request::Kind::Hello(hello)) }).await.unwrap();
    let mut client = ClientServiceClient::new(bob.channel.clone());
    let mut responses = within(client.connect(bob.request(ReceiverStream::new(outgoing)))).await.unwrap().into_inner();
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
    let refusal = loop {
        let response = within(responses.message()).await.unwrap().unwrap();
        let Some(connect_response::Kind::States(states)) = response.kind else { continue };
        let rejected = states.states.into_iter().find_map(|state| match state.kind {
            Some(state::Kind::Rejected(refusal)) => Some((state.number, refusal)),
            _ => None,
        });
        if let Some(rejected) = rejected {
            break rejected;
        }
    };
    assert_eq!((refusal.0, &*refusal.1.reason), (2, "PERMISSION_DENIED"));
    acquire(&bob, "team-b/x", "bob-2").await.unwrap();
}

fn acquire_in_background(caller: &Caller, name: &'static str) -> tokio::task::JoinHandle<Result<u64, Status>> {
    let caller = caller.clone();
    tokio::spawn(async move { acquire(&caller, name, "waits").await })
}
