//! What clients declare: each item requires the right of the plain call that makes the same.

use std::collections::BTreeMap;

use tenure_proto::v1::client_service_client::ClientServiceClient;
use tenure_proto::v1::connect_request::Kind as Sent;
use tenure_proto::v1::connect_response::Kind as Received;
use tenure_proto::v1::state::Kind as State;
use tenure_proto::v1::*;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status};

use crate::access::calls::ttl;
use crate::access::requests::{TEAMS, VERBS, policy};
use crate::access::service::{Caller, Service, fact, is_forbidden};
use crate::serving::within;

/// Declares a session with a claim and a membership of each of these names, and returns the states by number: 1 is the
/// session, then the claims and the memberships follow.
async fn declare(caller: &Caller, client: &str, names: &[&str]) -> Result<BTreeMap<u64, State>, Status> {
    let open = Some(DeclaredSession { session_id: client.to_owned(), ttl: ttl(), ..DeclaredSession::default() });
    let claims = (2..).zip(names).map(|(number, name)| {
        let names = vec![(*name).to_owned()];
        DeclaredClaim { number, names, ..DeclaredClaim::default() }
    });
    let first = 2 + names.len() as u64;
    let memberships = (first..).zip(names).map(|(number, name)| {
        let group = (*name).to_owned();
        DeclaredMembership { number, group, ..DeclaredMembership::default() }
    });
    let declared = Declaration { session: 1, open, claims: claims.collect(), memberships: memberships.collect() };
    let client_id = format!("{client:0>16}");
    let hello = Hello { client_id, epoch: 1, declared: vec![declared], ..Hello::default() };
    let (requests, outgoing) = tokio::sync::mpsc::channel(1);
    requests.send(ConnectRequest { kind: Some(Sent::Hello(hello)) }).await.expect("open");
    let mut client = ClientServiceClient::new(caller.channel.clone());
    let mut responses = within(client.connect(caller.request(ReceiverStream::new(outgoing)))).await?.into_inner();
    let mut states = BTreeMap::new();
    while states.len() < 1 + 2 * names.len() {
        let response = within(responses.message()).await?.expect("a message");
        if let Some(Received::States(received)) = response.kind {
            states.extend(received.states.into_iter().map(|state| (state.number, state.kind.expect("a state"))));
        }
    }
    Ok(states)
}

#[tokio::test]
async fn stream_requires_the_right_to_acquire_some_name() {
    let service = Service::start(&["acquire", "read", "watch", "operate", "none"], &policy("")).await;
    for verb in VERBS.iter().chain(&["none"]) {
        let declared = declare(&service.caller(verb).await, verb, &["job"]).await;
        assert_eq!(declared.is_ok(), *verb == "acquire", "{verb}: {declared:?}");
        assert!(declared.is_ok() || is_forbidden(&declared.map(drop)), "{verb}");
    }
}

#[tokio::test]
async fn each_item_requires_the_right_on_its_name() {
    let service = Service::start(&["ann", "bob", "reader"], TEAMS).await;
    let states = declare(&service.caller("ann").await, "ann", &["team-a", "team-b"]).await.expect("welcome");
    let rule = |number: u64| match &states[&number] {
        State::Rejected(refusal) => refusal.metadata["rule"].clone(),
        other => format!("{other:?}"),
    };
    assert!(matches!(states[&1], State::Open(_)), "{:?}", states[&1]);
    assert!(matches!(states[&2], State::Held(_)) && matches!(states[&4], State::Joined(_)), "{states:?}");
    assert_eq!([rule(3), rule(5)], ["policy", "policy"]);
}

#[tokio::test]
async fn client_of_another_identity_is_rejected() {
    let service = Service::start(&["ann", "bob", "reader"], TEAMS).await;
    declare(&service.caller("ann").await, "kim", &["team-a"]).await.expect("welcome");
    let other = declare(&service.caller("bob").await, "kim", &["team-b"]).await.expect_err("rejected");
    assert_eq!((other.code(), &*fact(&other, "rule")), (Code::PermissionDenied, "client-owner"));
}
