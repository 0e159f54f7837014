//! Attempts to access the namespaces, names and sessions of other callers, by every call of the contract.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use prost::Message;
use tenure_abuse::{Attack, GrpcCaller, GrpcResponse, assert_no_leaks, message};
use tenure_proto::v1::connect_response::Kind as Received;
use tenure_proto::v1::state::Kind as State;
use tenure_proto::v1::{AcquireResponse, ConnectResponse};

use crate::contract::{About, CLAIM, Contract};
use crate::service::Service;

const PERMISSION_DENIED: i32 = 7;

/// `ann` may do everything in her namespace, and `bob` may use his own names in the default namespace.
const POLICY: &str = r#"
    [[roles.blue]]
    verbs = ["acquire", "read", "watch", "operate"]
    namespaces = ["blue"]
    [[roles.team]]
    verbs = ["acquire", "read", "watch", "operate"]
    names = ["team-b"]
    [[grants]]
    identity = "token:ann"
    roles = ["blue"]
    [[grants]]
    identity = "token:bob"
    roles = ["team"]
"#;

/// Acquires a lock as a permitted caller, and returns its token.
async fn hold(
    service: &Service,
    caller: &GrpcCaller,
    identity: &str,
    namespace: &str,
    name: &str,
    session: &str,
) -> u64 {
    let about = About { namespace, name, session, token: 0 };
    let calls = Contract::read().calls(about);
    let (path, request) = calls.into_iter().find(|(path, _)| path.ends_with("/Acquire")).unwrap();
    let answer = caller.call(&path, &[("authorization", &service.bearer(identity))], &message(&request)).await.unwrap();
    let response = AcquireResponse::decode(answer.body.get(5..).unwrap_or_default()).unwrap();
    assert!(response.acquired, "{answer:?}");
    response.token
}

/// The messages of a stream's response.
fn received(mut body: &[u8]) -> Vec<Received> {
    let mut messages = Vec::new();
    while let Some((head, rest)) = body.split_at_checked(5) {
        let len = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        messages.extend(ConnectResponse::decode(&rest[..len]).unwrap().kind);
        body = &rest[len..];
    }
    messages
}

/// The error as text, including that of a claim on a stream; without the names, which differ in their last letter.
fn refusal(path: &str, answer: &GrpcResponse, about: About<'_>) -> Option<(i32, String)> {
    let (code, text) = match answer.grpc {
        Some(code) if code != 0 => {
            let details = answer.headers.iter().find(|(name, _)| name == "grpc-status-details-bin");
            let details = details.map(|(_, text)| STANDARD_NO_PAD.decode(text.trim_end_matches('=')).unwrap());
            let mut details = details.unwrap_or_default();
            assert_no_leaks(&String::from_utf8_lossy(&details));
            // The facts are a map, whose order varies.
            details.retain(|byte| !matches!(byte, b'1' | b'2'));
            details.sort_unstable();
            (code, format!("{} {details:?}", answer.text))
        }
        _ if path.ends_with("/Connect") => {
            let states = received(&answer.body).into_iter().filter_map(|received| match received {
                Received::States(states) => Some(states.states),
                _ => None,
            });
            let claim = states.flatten().find(|state| state.number == CLAIM)?;
            match claim.kind? {
                State::Rejected(refusal) => (refusal.code, format!("{refusal:?}")),
                _ => return None,
            }
        }
        _ => return None,
    };
    assert_no_leaks(&text);
    let escaped = about.name.replace('/', "%2F");
    Some((code, text.replace(about.name, "NAME").replace(&escaped, "NAME").replace(about.session, "SESSION")))
}

/// The rejection of each call of a caller.
async fn refusals(service: &Service, identity: &str, about: About<'_>) -> Vec<(String, Option<(i32, String)>)> {
    let caller = GrpcCaller::connect(service.target.address()).await.unwrap();
    let bearer = service.bearer(identity);
    let mut refusals = Vec::new();
    for (path, request) in Contract::read().calls(about) {
        let answer = caller.call(&path, &[("authorization", &bearer)], &message(&request)).await.unwrap();
        let refused = refusal(&path, &answer, about);
        refusals.push((path, refused));
    }
    refusals
}

#[tokio::test]
async fn calls_to_another_namespace_are_denied() {
    let service = Service::start(&["ann"], POLICY, |_| Vec::new()).await;
    let caller = GrpcCaller::connect(service.target.address()).await.unwrap();
    let token = hold(&service, &caller, "root", "", "job-1", "boss").await;
    let about = About { namespace: "default", name: "job-1", session: "boss", token };
    let attack = async {
        let existing = refusals(&service, "ann", about).await;
        let missing = refusals(&service, "ann", About { name: "job-2", ..about }).await;
        (existing, missing)
    };
    let (existing, missing) = service.target.run(Attack::named("another namespace"), attack).await;
    assert!(existing.len() > 20, "calls are missing");
    for ((path, rejected), (_, of_missing)) in existing.into_iter().zip(missing) {
        let (code, _) = rejected.clone().unwrap_or_else(|| panic!("{path} is not rejected"));
        assert_eq!(code, PERMISSION_DENIED, "{path}: {rejected:?}");
        assert_eq!(rejected, of_missing, "{path} reveals whether the lock exists");
    }
}

#[tokio::test]
async fn denied_calls_do_not_reveal_whether_a_lock_exists() {
    let service = Service::start(&["bob"], POLICY, |_| Vec::new()).await;
    let caller = GrpcCaller::connect(service.target.address()).await.unwrap();
    let token = hold(&service, &caller, "root", "", "secret-1", "boss").await;
    for (name, session) in [("team-b/x", "bob-1"), ("team-b/y", "bob-2")] {
        hold(&service, &caller, "bob", "", name, session).await;
    }
    let about = About { namespace: "default", name: "secret-1", session: "bob-1", token };
    let attack = async {
        let existing = refusals(&service, "bob", about).await;
        let missing = refusals(&service, "bob", About { name: "secret-2", session: "bob-2", ..about }).await;
        (existing, missing)
    };
    let (existing, missing) = service.target.run(Attack::named("names of others").may_change(), attack).await;
    for ((path, rejected), (_, of_missing)) in existing.into_iter().zip(missing) {
        assert_eq!(rejected, of_missing, "{path} reveals whether the lock exists");
    }
}

/// A caller that knows the id of another caller's session, and its token, cannot use it.
#[tokio::test]
async fn calls_with_sessions_of_other_callers_are_denied() {
    let service = Service::start(&["bob"], POLICY, |_| Vec::new()).await;
    let caller = GrpcCaller::connect(service.target.address()).await.unwrap();
    let token = hold(&service, &caller, "root", "", "team-b/x", "boss").await;
    let about = About { namespace: "default", name: "team-b/x", session: "boss", token };
    let attack = async {
        let bearer = service.bearer("bob");
        let mut accepted = Vec::new();
        let about_sessions = |request: &[u8]| request.windows(4).any(|part| part == b"boss");
        for (path, request) in Contract::read().calls(about) {
            // Calls that do not name the session are skipped: an operator may evict any holder, and does not use its
            // session.
            if about_sessions(&request) {
                let answer = caller.call(&path, &[("authorization", &bearer)], &message(&request)).await.unwrap();
                let is_denied = String::from_utf8_lossy(&answer.body).contains("PERMISSION_DENIED")
                    || String::from_utf8_lossy(&answer.body).contains("SESSION_IN_USE");
                if refusal(&path, &answer, about).is_none() && !is_denied {
                    accepted.push((path, answer));
                }
            }
        }
        accepted
    };
    let accepted = service.target.run(Attack::named("sessions of others").may_connect(), attack).await;
    assert!(accepted.is_empty(), "{accepted:?}");
}
