//! Messages: requests, replies as the client decodes them, and messages between servers.

use std::time::Duration;

use prost::Message;
use prost_reflect::{DynamicMessage, MessageDescriptor};
use tenure_proto::internal::{
    Acquire, AttachSession, CancelAcquire, CloseSession, Command, Limits, LongestPause, Mode, OpenSession, Opening,
    Pass, PassResponse, PassedTrace, Release, Verdict, command::Kind,
};
use tonic::Code;
use tonic_types::{ErrorDetails, StatusExt};

use super::Seed;
use crate::contract::{self, CALLS};

pub(super) fn seeds() -> Vec<Seed> {
    let requests = REQUESTS.iter().map(|(name, call, json)| ("requests", *name, request(call, json)));
    let answers = ANSWERS.iter().map(|(name, sign, message, json)| {
        let message = encoded(contract::message(message), json);
        ("client", *name, [&[*sign], &message[..]].concat())
    });
    let rejections = [
        ("rejection-session-ended", Code::FailedPrecondition, "SESSION_ENDED", "tenure"),
        ("rejection-store-unavailable", Code::Unavailable, "STORE_UNAVAILABLE", "tenure"),
        ("rejection-of-another-domain", Code::FailedPrecondition, "SESSION_ENDED", "example.com"),
        ("rejection-with-an-unknown-reason", Code::Aborted, "FROM_THE_FUTURE", "tenure"),
    ];
    let rejections = rejections.map(|(name, code, reason, domain)| ("client", name, rejection(code, reason, domain)));
    let passes = passes().into_iter().map(|(name, pass)| ("peers", name, [b".", &pass.encode_to_vec()[..]].concat()));
    let verdict = Verdict { number: 1, refused: false, first: 4, steps: vec![1, 2], at: 9 };
    let verdict = PassResponse { batch: None, verdicts: vec![verdict], rows: 3 };
    let verdict = ("peers", "verdict", [b"?", &verdict.encode_to_vec()[..]].concat());
    requests.chain(answers).chain(rejections).chain(passes).chain([verdict]).collect()
}

/// The call and its request, as JSON.
const REQUESTS: [(&str, &str, &str); 12] = [
    (
        "acquire-two-names-shared",
        "LockService/Acquire",
        r#"{"names": ["a", "b"], "sessionId": "ann", "ttl": "5s", "mode": "MODE_SHARED"}"#,
    ),
    (
        "acquire-with-all-options",
        "LockService/Acquire",
        r#"{"namespace": "other", "names": ["pool"], "sessionId": "ann", "ttl": "5s", "wait": "0.5s", "priority": -3,
            "owner": "host", "metadata": {"key": "value"}, "minHold": "1s", "disconnectGrace": "2s", "mode": "MODE_PERMITS",
            "permits": 2, "limit": 5, "openedRevision": 7}"#,
    ),
    ("acquire-nothing", "LockService/Acquire", r#"{"sessionId": "ann"}"#),
    ("release", "LockService/Release", r#"{"name": "a", "sessionId": "ann", "token": 5}"#),
    ("list-a-page", "LockService/ListLocks", r#"{"prefix": "team/", "pageSize": 10, "pageToken": "bG9ja3M"}"#),
    (
        "transfer-by-operator",
        "LockService/Transfer",
        r#"{"name": "a", "token": 5, "toSessionId": "bob", "drain": "30s", "operator": "eve", "note": "why"}"#,
    ),
    (
        "configure-lock",
        "LockService/ConfigureLock",
        r#"{"name": "a", "operator": "eve", "settings": {"limit": 3, "preempt": {"settling": "1s", "drain": "2s"}}}"#,
    ),
    (
        "open-session",
        "SessionService/OpenSession",
        r#"{"sessionId": "ann", "ttl": "10s", "owner": "host", "metadata": {"key": "value"}, "disconnectGrace": "1s",
            "attachment": 1, "clientId": "one"}"#,
    ),
    (
        "join-group",
        "GroupService/JoinGroup",
        r#"{"group": "g", "sessionId": "ann", "ttl": "10s", "metadata": {"zone": "a"}}"#,
    ),
    (
        "configure-group",
        "GroupService/ConfigureGroup",
        r#"{"group": "g", "config": "{\"size\": 3}", "expectedRevision": 4}"#,
    ),
    (
        "assign-group",
        "GroupService/AssignGroup",
        r#"{"group": "g", "sessionId": "ann", "token": 3, "membershipRevision": 4, "assignments": {"3": "left"}}"#,
    ),
    (
        "names-out-of-bounds",
        "LockService/CancelAcquire",
        r#"{"namespace": "No", "names": ["b", "a\n", ""], "sessionId": ""}"#,
    ),
];

/// The type's byte, the type's name, and the message, as JSON.
const ANSWERS: [(&str, u8, &str, &str); 5] = [
    ("lock-idle", b'l', "Lock", r#"{"name": "a"}"#),
    (
        "lock-held-and-awaited",
        b'l',
        "Lock",
        r#"{"name": "a", "holderCount": 1, "waiterCount": 1,
            "holders": [{"id": 4, "names": ["a", "b"], "state": "CLAIM_STATE_HELD", "token": 5, "sessionId": "ann",
                "mode": "MODE_EXCLUSIVE", "minHold": "1s", "grantedAt": "2026-01-01T00:00:00Z",
                "transfer": {"toSessionId": "bob", "drain": "5s"}}],
            "waiters": [{"id": 6, "names": ["a"], "state": "CLAIM_STATE_WAITING", "sessionId": "bob", "priority": -1,
                "metadata": {"key": "value"}, "deadlock": ["ann", "bob"]}]}"#,
    ),
    (
        "lock-with-settings",
        b'l',
        "Lock",
        r#"{"name": "a", "limit": 5, "settings": {"limit": 5, "preempt": {"settling": "1s", "drain": "0.5s"}},
            "holders": [{"id": 4, "names": ["a"], "state": "CLAIM_STATE_LINGERING", "token": 4, "mode": "MODE_PERMITS",
                "permits": 2, "limit": 5}]}"#,
    ),
    (
        "refusal-with-an-end-reason",
        b'r',
        "Refusal",
        r#"{"code": 9, "reason": "HOLD_ENDED", "message": "said", "metadata": {"end_reason": "evicted"}}"#,
    ),
    ("refusal-without-a-message", b'r', "Refusal", r#"{"code": 9, "metadata": {"end_reason": "unheard-of"}}"#),
];

fn request(call: &str, json: &str) -> Vec<u8> {
    let index = CALLS.iter().position(|method| contract::path(method).ends_with(call)).expect("a call");
    let message = encoded(CALLS[index].input(), json);
    [&[u8::try_from(index).expect("few")], &message[..]].concat()
}

fn encoded(descriptor: MessageDescriptor, json: &str) -> Vec<u8> {
    let mut json = serde_json::Deserializer::from_str(json);
    DynamicMessage::deserialize(descriptor, &mut json).expect("it is of its type").encode_to_vec()
}

/// A code, and the details that go with it.
fn rejection(code: Code, reason: &str, domain: &str) -> Vec<u8> {
    let facts = [("session_id".to_owned(), "ann".to_owned())];
    let details = ErrorDetails::with_error_info(reason, domain, facts);
    let status = tonic::Status::with_error_details(code, "said", details);
    [&[u8::try_from(i32::from(code)).expect("small")], status.details()].concat()
}

fn passes() -> Vec<(&'static str, Pass)> {
    let opening = Opening {
        ttl: Duration::from_secs(10).try_into().ok(),
        disconnect_grace: Duration::from_secs(1).try_into().ok(),
        owner: "host".to_owned(),
        metadata: [("key".to_owned(), "value".to_owned())].into(),
    };
    let [ann, bob] = ["ann", "bob"].map(str::to_owned);
    let names = vec!["a".to_owned(), "b".to_owned()];
    let acquire = Acquire {
        session: ann.clone(),
        names: names.clone(),
        mode: Mode::Shared.into(),
        queue: true,
        received: Some(4),
        ..Acquire::default()
    };
    let permits = Acquire {
        session: bob.clone(),
        opening: Some(opening.clone()),
        mode: Mode::Permits.into(),
        permits: 2,
        limit: Some(5),
        priority: -7,
        min_hold: Duration::from_secs(1).try_into().ok(),
        ..acquire.clone()
    };
    let release = Release { session: ann.clone(), name: "a".to_owned(), token: 5 };
    let cancel = CancelAcquire { session: bob, names, attached: None };
    let open = OpenSession { session: ann.clone(), opening: Some(opening), attachment: 1, client: "one".to_owned() };
    let attach = AttachSession { session: ann.clone(), attachment: 2, client: "one".to_owned() };
    let close = CloseSession { session: ann, client: "one".to_owned() };
    vec![
        ("pass-acquire-two-names-shared", pass(vec![Kind::Acquire(acquire)])),
        ("pass-acquire-permits-with-opening", pass(vec![Kind::Acquire(permits)])),
        ("pass-release-and-cancel", pass(vec![Kind::Release(release.clone()), Kind::CancelAcquire(cancel)])),
        ("pass-sessions", pass(vec![Kind::OpenSession(open), Kind::AttachSession(attach), Kind::CloseSession(close)])),
        (
            "pass-with-identity-pauses-and-traces",
            Pass {
                pauses: vec![LongestPause { claim: 5, nanos: 1_000 }],
                traces: vec![PassedTrace {
                    command: 1,
                    traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned(),
                }],
                commands: vec![Command {
                    identity: "token:ann".to_owned(),
                    limits: Some(Limits { claims: Some(3), ..Limits::default() }),
                    kind: Some(Kind::Release(release)),
                }],
                ..pass(Vec::new())
            },
        ),
        ("pass-end-wait", pass(vec![Kind::EndWait(6)])),
    ]
}

fn pass(commands: Vec<Kind>) -> Pass {
    let commands = commands.into_iter().map(|kind| Command { kind: Some(kind), ..Command::default() });
    Pass { number: 1, after: 2, commands: commands.collect(), pauses: Vec::new(), traces: Vec::new() }
}
