//! The verb that each call requires.

use crate::access::calls::all;
use crate::access::requests::{VERBS, policy, revision};
use crate::access::service::{Service, fact, is_forbidden};
use crate::serving::within;
use prost::Message;
use std::collections::BTreeSet;
use tenure_proto::v1::*;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;

#[tokio::test]
async fn call_requires_its_verb() {
    let service = Service::start(&["acquire", "read", "watch", "operate", "ann", "none"], &policy("")).await;
    let ann = service.caller("ann").await;
    for verb in VERBS.iter().chain(&["none"]) {
        let caller = service.caller(verb).await;
        for call in all() {
            let is_enough = call.verb.split(" or ").any(|required| required == *verb);
            let before = revision(&ann).await;
            let answer = within((call.make)(caller.clone(), "job".into(), format!("of-{verb}"))).await;
            assert_eq!(is_forbidden(&answer), !is_enough, "{} by {verb}: {answer:?}", call.name);
            if let (false, Err(refused)) = (is_enough, &answer) {
                assert!(call.verb.split(" or ").any(|required| required == fact(refused, "verb")), "{}", call.name);
                assert_eq!(revision(&ann).await, before, "{} has changed something", call.name);
            }
        }
    }
}

/// Fails when a new call is not covered here.
#[test]
fn every_call_of_the_contract_is_covered() {
    let contract = prost_types::FileDescriptorSet::decode(tenure_proto::FILE_DESCRIPTOR_SET).unwrap();
    let services = contract.file.iter().filter(|file| file.package() == "tenure.v1").flat_map(|file| &file.service);
    let methods: BTreeSet<String> = services
        .flat_map(|service| {
            service.method.iter().map(|method| format!("tenure.v1.{}/{}", service.name(), method.name()))
        })
        .collect();
    let covered = all().into_iter().map(|call| call.name.to_owned());
    let stream = "tenure.v1.ClientService/Connect".to_owned();
    assert_eq!(covered.chain([stream]).collect::<BTreeSet<_>>(), methods);
}

#[tokio::test]
async fn right_in_a_namespace_covers_no_other_namespace() {
    let service = Service::start(&["ann"], &policy("namespaces = [\"blue\"]")).await;
    let ann = service.caller("ann").await;
    for call in all() {
        let answer = within((call.make)(ann.clone(), "job".into(), "s".into())).await;
        assert!(is_forbidden(&answer), "{} in the default namespace: {answer:?}", call.name);
    }
    let allowed = GetLockRequest { namespace: "blue".into(), name: "job".into() };
    within(ann.locks().get_lock(allowed)).await.unwrap();
}

#[tokio::test]
async fn reflection_requires_a_right() {
    let service = Service::start(&["read", "none"], &policy("")).await;
    for (name, is_allowed) in [("read", true), ("none", false)] {
        let caller = service.caller(name).await;
        let ask = ServerReflectionRequest {
            message_request: Some(MessageRequest::ListServices(String::new())),
            ..ServerReflectionRequest::default()
        };
        let mut reflection = ServerReflectionClient::new(caller.channel.clone());
        let reply =
            within(reflection.server_reflection_info(caller.request(tokio_stream::iter([ask])))).await.map(drop);
        assert_eq!(is_forbidden(&reply), !is_allowed, "{reply:?}");
        let mut health = HealthClient::new(caller.channel.clone());
        within(health.check(HealthCheckRequest::default())).await.unwrap();
    }
}
