//! Messages: requests, replies as the client decodes them, and messages between servers.

use prost::Message;
use prost_reflect::{DynamicMessage, MessageDescriptor};
use tenure_proto::internal::ForwardResponse;
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
    let forwards = FORWARDS.map(|(name, json)| ("peers", name, [b".", json.as_bytes()].concat()));
    let (decided, rejected) = (vec![1, 2], vec![3]);
    let notice = ForwardResponse { batch: None, decided, rejected, at: 9, rows: 3, is_shared: true };
    let notice = ("peers", "notice", [b"?", &notice.encode_to_vec()[..]].concat());
    requests.chain(answers).chain(rejections).chain(forwards).chain([notice]).collect()
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
            "owner": "host", "metadata": {"key": "value"}, "minHold": "1s", "mode": "MODE_PERMITS", "permits": 2, "limit": 5,
            "openedRevision": 7}"#,
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
        r#"{"sessionId": "ann", "ttl": "10s", "owner": "host", "metadata": {"key": "value"}}"#,
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

/// Forwards of server 7, as JSON.
const FORWARDS: [(&str, &str); 5] = [
    (
        "forward-acquire-two-names-shared",
        r#"{"number": 5, "oldest": 4, "after": 9, "requests": [{"command": {"acquire": {"session": "ann", "home": 7,
            "received": 4, "names": ["a", "b"], "mode": "shared", "queue": true, "priority": 0}}}]}"#,
    ),
    (
        "forward-acquire-permits-with-opening",
        r#"{"number": 5, "oldest": 5, "after": 9, "requests": [{"command": {"acquire": {"session": "bob", "home": 7,
            "opening": {"ttl_ms": 10000, "owner": "host", "metadata": {"key": "value"}}, "received": 8, "opened": 3, "names": ["a"],
            "mode": {"permits": {"permits": 2, "limit": 5}}, "queue": false, "priority": -7, "min_hold_ms": 1000}}}]}"#,
    ),
    (
        "forward-sessions",
        r#"{"number": 5, "oldest": 5, "after": 9, "requests": [
            {"command": {"open_session": {"session": "ann", "opening": {"ttl_ms": 10000, "owner": ""}, "home": 7}}},
            {"command": {"move_session": {"session": "ann", "home": 7}}},
            {"command": {"end_wait": {"claim": 6, "home": 7}}},
            {"command": {"close_session": {"session": "ann"}}}]}"#,
    ),
    (
        "forward-release-with-identity-pauses-and-traces",
        r#"{"number": 5, "oldest": 5, "after": 9, "requests": [{"actor": {"identity": "token:ann",
            "limits": {"sessions": null, "claims": 3, "waiters": null, "memberships": null}},
            "command": {"release": {"session": "ann", "name": "a", "token": 5}}}],
            "pauses": [[5, {"secs": 1, "nanos": 5}]],
            "traces": [[0, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]]}"#,
    ),
    (
        "forward-declared-changes",
        r#"{"number": 5, "oldest": 5, "after": 9, "requests": [{"command": {"change": {"client": "mia", "epoch": 1, "home": 7,
            "connected": 2, "changes": [{"declare": {"session": 1,
                "opening": {"id": "s", "disconnect_grace_ms": 1000, "opening": {"ttl_ms": 10000, "owner": ""}},
                "claims": [{"number": 2, "names": ["a"], "mode": "exclusive", "queue": true, "priority": 0}],
                "memberships": [{"number": 3, "group": "g"}]}}, {"withdraw": 2}]}}}]}"#,
    ),
];
