//! Sessions are usable only by the identity that opened them.

use crate::access::calls::{all, commands};
use crate::access::requests::{acquire, is_of_another, policy, revision};
use crate::access::service::{Caller, Service, fact, is_forbidden};
use crate::serving::within;
use tenure_proto::v1::*;
use tonic::{Code, Status};

#[tokio::test]
async fn session_rejects_calls_of_another_identity() {
    let bob_may = "[[grants]]\nidentity = \"token:bob\"\nroles = [\"acquire\"]\n";
    let service = Service::start(&["ann", "bob"], &(policy("") + bob_may)).await;
    let (ann, bob) = (service.caller("ann").await, service.caller("bob").await);
    let token = acquire(&ann, "job", "ann").await.unwrap();
    let before = revision(&ann).await;
    for call in all().into_iter().filter(|call| ["acquire", "acquire or read"].contains(&call.verb)) {
        if call.name.ends_with("ListSessions") {
            continue;
        }
        let refused = within((call.make)(bob.clone(), "job".into(), "ann".into())).await.unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied, "{}: {refused:?}", call.name);
        assert_eq!((fact(&refused, "rule"), fact(&refused, "session_id")), ("session-owner".into(), "ann".into()));
    }
    for (required, kind) in commands("job", "ann") {
        if !required.contains("acquire") {
            continue;
        }
        assert!(is_of_another(&bob, kind.clone()).await, "{kind:?}");
    }
    assert_eq!(revision(&ann).await, before, "no change");
    assert_eq!(acquire(&ann, "job", "ann").await.unwrap(), token, "the hold remains");
}

#[tokio::test]
async fn keep_alive_does_not_renew_a_session_of_another_identity() {
    let service = Service::start(&["ann", "acquire", "read"], &policy("")).await;
    let (ann, other, reader) =
        (service.caller("ann").await, service.caller("acquire").await, service.caller("read").await);
    acquire(&ann, "job", "ann").await.unwrap();
    let keep = |caller: Caller| async move {
        let request = KeepAliveRequest { session_ids: vec!["ann".into()], ..KeepAliveRequest::default() };
        let mut answers = within(caller.sessions().keep_alive(tokio_stream::iter([request]))).await?.into_inner();
        Ok::<_, Status>(within(answers.message()).await?.unwrap().sessions.remove(0))
    };
    assert!(keep(ann).await.unwrap().refusal.is_none());
    let refusal = keep(other).await.unwrap().refusal.unwrap();
    assert_eq!((&*refusal.reason, &*refusal.metadata["rule"]), ("PERMISSION_DENIED", "session-owner"));
    assert!(is_forbidden(&keep(reader).await.map(drop)));
}
