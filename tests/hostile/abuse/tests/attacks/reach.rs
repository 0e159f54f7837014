//! Attempts to access the namespaces, names and sessions of other callers, by every call of the contract.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use prost::Message;
use tenure_abuse::{Answered, Attack, GrpcCaller, assert_discreet, message};
use tenure_proto::v1::answer::Kind as Answer;
use tenure_proto::v1::{AcquireResponse, StreamResponse};

use crate::contract::{About, Contract};
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
async fn hold(service: &Service, caller: &GrpcCaller, who: &str, namespace: &str, name: &str, session: &str) -> u64 {
    let about = About { namespace, name, session, token: 0 };
    let calls = Contract::read().calls(about);
    let (path, asked) = calls.into_iter().find(|(path, _)| path.ends_with("/Acquire")).unwrap();
    let answer = caller.call(&path, &[("authorization", &service.bearer(who))], &message(&asked)).await.unwrap();
    let told = AcquireResponse::decode(answer.body.get(5..).unwrap_or_default()).unwrap();
    assert!(told.acquired, "{answer:?}");
    told.token
}

/// The error as text, including that of a command in a stream; without the names, which differ in their last letter.
fn refusal(answer: &Answered, about: About<'_>) -> Option<(i32, String)> {
    let (code, text) = match answer.grpc {
        Some(code) if code != 0 => {
            let details = answer.headers.iter().find(|(name, _)| name == "grpc-status-details-bin");
            let details = details.map(|(_, text)| STANDARD_NO_PAD.decode(text.trim_end_matches('=')).unwrap());
            let mut details = details.unwrap_or_default();
            assert_discreet(&String::from_utf8_lossy(&details));
            // The facts are a map, whose order varies.
            details.retain(|byte| !matches!(byte, b'1' | b'2'));
            details.sort_unstable();
            (code, format!("{} {details:?}", answer.text))
        }
        _ => {
            let response = StreamResponse::decode(answer.body.get(5..)?).ok()?;
            match response.answers.into_iter().next()?.kind? {
                Answer::Refusal(refusal) => (refusal.code, format!("{refusal:?}")),
                _ => return None,
            }
        }
    };
    assert_discreet(&text);
    let escaped = about.name.replace('/', "%2F");
    Some((code, text.replace(about.name, "NAME").replace(&escaped, "NAME").replace(about.session, "SESSION")))
}

/// The rejection of each call of a caller.
async fn refusals(service: &Service, who: &str, about: About<'_>) -> Vec<(String, Option<(i32, String)>)> {
    let caller = GrpcCaller::connect(service.judge.address()).await.unwrap();
    let bearer = service.bearer(who);
    let mut refusals = Vec::new();
    for (path, asked) in Contract::read().calls(about) {
        let answer = caller.call(&path, &[("authorization", &bearer)], &message(&asked)).await.unwrap();
        refusals.push((path, refusal(&answer, about)));
    }
    refusals
}

#[tokio::test]
async fn no_call_reaches_another_namespace() {
    let service = Service::start(&["ann"], POLICY, |_| Vec::new()).await;
    let caller = GrpcCaller::connect(service.judge.address()).await.unwrap();
    let token = hold(&service, &caller, "root", "", "job-1", "boss").await;
    let there = About { namespace: "default", name: "job-1", session: "boss", token };
    let attack = async {
        let exists = refusals(&service, "ann", there).await;
        let is_not = refusals(&service, "ann", About { name: "job-2", ..there }).await;
        (exists, is_not)
    };
    let (exists, is_not) = service.judge.under(Attack::named("another namespace"), attack).await;
    assert!(exists.len() > 30, "all calls and commands");
    for ((path, refused), (_, of_nothing)) in exists.into_iter().zip(is_not) {
        let (code, _) = refused.clone().unwrap_or_else(|| panic!("{path} is not refused"));
        assert_eq!(code, PERMISSION_DENIED, "{path}: {refused:?}");
        assert_eq!(refused, of_nothing, "{path} tells what there is");
    }
}

#[tokio::test]
async fn no_call_tells_whether_a_lock_exists_that_is_not_to_be_seen() {
    let service = Service::start(&["bob"], POLICY, |_| Vec::new()).await;
    let caller = GrpcCaller::connect(service.judge.address()).await.unwrap();
    let token = hold(&service, &caller, "root", "", "secret-1", "boss").await;
    hold(&service, &caller, "bob", "", "team-b/x", "bob-1").await;
    let mine = About { namespace: "default", name: "secret-1", session: "bob-1", token };
    let attack = async {
        let exists = refusals(&service, "bob", mine).await;
        let is_not = refusals(&service, "bob", About { name: "secret-2", ..mine }).await;
        (exists, is_not)
    };
    let (exists, is_not) = service.judge.under(Attack::named("names of others").may_change(), attack).await;
    for ((path, refused), (_, of_nothing)) in exists.into_iter().zip(is_not) {
        assert_eq!(refused, of_nothing, "{path} tells what there is");
    }
}

/// A caller that knows the id of another caller's session, and its token, cannot use it.
#[tokio::test]
async fn no_call_uses_the_session_of_another() {
    let service = Service::start(&["bob"], POLICY, |_| Vec::new()).await;
    let caller = GrpcCaller::connect(service.judge.address()).await.unwrap();
    let token = hold(&service, &caller, "root", "", "team-b/x", "boss").await;
    let theirs = About { namespace: "default", name: "team-b/x", session: "boss", token };
    let attack = async {
        let bearer = service.bearer("bob");
        let mut taken = Vec::new();
        let about_sessions = |asked: &[u8]| asked.windows(4).any(|part| part == b"boss");
        for (path, asked) in Contract::read().calls(theirs) {
            // Calls that do not name the session are skipped: an operator may evict any holder, and does not use its
            // session.
            if about_sessions(&asked) {
                let answer = caller.call(&path, &[("authorization", &bearer)], &message(&asked)).await.unwrap();
                let kept = String::from_utf8_lossy(&answer.body).contains("PERMISSION_DENIED")
                    || String::from_utf8_lossy(&answer.body).contains("NOT_ATTACHED");
                if refusal(&answer, theirs).is_none() && !kept {
                    taken.push((path, answer));
                }
            }
        }
        taken
    };
    let taken = service.judge.under(Attack::named("sessions of others"), attack).await;
    assert!(taken.is_empty(), "{taken:?}");
}
