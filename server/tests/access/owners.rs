//! Sessions are usable only by the identity that opened them.

use crate::access::calls::all;
use crate::access::requests::{acquire, policy, revision};
use crate::access::service::{Service, fact};
use crate::serving::within;
use tonic::Code;

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
    assert_eq!(revision(&ann).await, before, "no change");
    assert_eq!(acquire(&ann, "job", "ann").await.unwrap(), token, "the hold remains");
}
