//! Tests of bad input: each kind is rejected with the name of the field and its bound, and changes nothing. Names that
//! only look alike are different locks.

use std::time::Duration;

use prost_types::Duration as ProtoDuration;
use tenure_e2e::{Calls, Rejection, Store, on_every_store, rejection, seconds};
use tenure_proto::v1::{
    AcquireRequest, AcquireResponse, EvictRequest, GetSessionRequest, ListLocksRequest, ListSessionsRequest,
    OpenSessionRequest, ReleaseRequest, RenewRequest, WatchRequest,
};
use tonic::Code;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;

on_every_store!(bad_input_is_rejected_by_field_without_effect, similar_names_are_different_locks);

const TTL: Duration = Duration::from_secs(60);

/// A valid Acquire.
fn valid_acquire() -> AcquireRequest {
    AcquireRequest {
        names: vec!["fine".into()],
        session_id: "fine".into(),
        ttl: Some(seconds(60.0)),
        wait: Some(ProtoDuration::default()),
        ..AcquireRequest::default()
    }
}

/// Invalid Acquires: the request, the field to be named, and a part of the bound.
fn bad_acquires() -> Vec<(AcquireRequest, &'static str, &'static str)> {
    let long = "x".repeat(256);
    let named =
        |names: &[&str]| AcquireRequest { names: names.iter().map(|&n| n.to_owned()).collect(), ..valid_acquire() };
    let ttl =
        |seconds: i64, nanos: i32| AcquireRequest { ttl: Some(ProtoDuration { seconds, nanos }), ..valid_acquire() };
    let wait =
        |seconds: i64, nanos: i32| AcquireRequest { wait: Some(ProtoDuration { seconds, nanos }), ..valid_acquire() };
    let hold = |seconds: i64| AcquireRequest { min_hold: Some(ProtoDuration { seconds, nanos: 0 }), ..valid_acquire() };
    let many: Vec<String> = (0..17).map(|number| format!("name {number}")).collect();
    let labels = |key: &str, value: &str| AcquireRequest {
        metadata: [(key.to_owned(), value.to_owned())].into(),
        ..valid_acquire()
    };
    vec![
        (named(&[]), "names", "1 to 16"),
        (AcquireRequest { names: many, ..valid_acquire() }, "names", "1 to 16"),
        (named(&["a", "a"]), "names", "twice"),
        (named(&[""]), "names[0]", "1 to 255 bytes"),
        (named(&["a", &long]), "names[1]", "1 to 255 bytes, not 256"),
        (named(&["tab\there"]), "names[0]", "control"),
        (named(&["nul\0"]), "names[0]", "control"),
        (named(&["next line \u{85}"]), "names[0]", "control"),
        (AcquireRequest { namespace: "Not_Lower".into(), ..valid_acquire() }, "namespace", "1 to 63 of a-z"),
        (AcquireRequest { namespace: "x".repeat(64), ..valid_acquire() }, "namespace", "1 to 63 of a-z"),
        (AcquireRequest { session_id: "x".repeat(129), ..valid_acquire() }, "session_id", "1 to 128 bytes"),
        (AcquireRequest { session_id: "line\nfeed".into(), ..valid_acquire() }, "session_id", "control"),
        (AcquireRequest { session_id: String::new(), ttl: None, ..valid_acquire() }, "session_id", "ttl"),
        (AcquireRequest { owner: long.clone(), ..valid_acquire() }, "owner", "0 to 255 bytes"),
        (ttl(0, 0), "ttl", "500ms to 86400s"),
        (ttl(0, 499_999_999), "ttl", "500ms to 86400s"),
        (ttl(86_400, 1), "ttl", "500ms to 86400s"),
        (ttl(-1, 0), "ttl", "negative"),
        (ttl(1, -1), "ttl", "negative"),
        (ttl(1, 1_000_000_000), "ttl", "nanos"),
        (ttl(i64::MAX, 999_999_999), "ttl", "500ms to 86400s"),
        (ttl(i64::MIN, 0), "ttl", "negative"),
        (wait(-1, 0), "wait", "negative"),
        (wait(365 * 86_400, 1), "wait", "365 days"),
        (wait(i64::MAX, 0), "wait", "365 days"),
        (hold(-1), "min_hold", "negative"),
        (hold(86_401), "min_hold", "24 hours"),
        (hold(i64::MAX), "min_hold", "24 hours"),
        (AcquireRequest { priority: 1001, ..valid_acquire() }, "priority", "-1000 to 1000"),
        (AcquireRequest { priority: i32::MIN, ..valid_acquire() }, "priority", "-1000 to 1000"),
        (labels("", "value"), "metadata", "1 to 4096"),
        (labels("key", &"x".repeat(4094)), "metadata", "4096 bytes"),
        (labels("key", "nul\0"), "metadata", "control"),
    ]
}

async fn bad_input_is_rejected_by_field_without_effect(store: Store) {
    let server = store.server().await.unwrap();
    let calls = Calls::connect(&server.url()).await.unwrap();
    let token = calls.try_lock("held", "holder", TTL).await.unwrap().token;
    let other = calls.try_lock("other", "other", TTL).await.unwrap().token;
    let before = calls.revision().await.unwrap();

    for (request, field, bound) in bad_acquires() {
        assert_invalid(&rejection(calls.acquire(request.clone()).await), field, bound, &request);
    }
    let invalid_utf8 = rejection(acquire_bytes(&calls, b"caf\xe9").await);
    assert_invalid(&invalid_utf8, "names", "UTF-8", &"not UTF-8");

    let mut sessions = calls.sessions.clone();
    let open = OpenSessionRequest { session_id: "new".into(), ..OpenSessionRequest::default() };
    assert_invalid(&rejection(sessions.open_session(open).await), "ttl", "500ms to 86400s", &"no ttl");
    let get = GetSessionRequest { session_id: String::new(), ..GetSessionRequest::default() };
    assert_invalid(&rejection(sessions.get_session(get).await), "session_id", "1 to 128", &"no id");

    bad_tokens(&calls, token, other).await;
    unknown_sessions(&calls).await;
    bad_pages(&calls).await;

    let watch = WatchRequest { after_revision: before + 1, ..WatchRequest::default() };
    let rejected = rejection(calls.watches.clone().watch(watch).await);
    assert_invalid(&rejected, "after_revision", &format!("at most {before}"), &"future revision");
    let watch = WatchRequest { names: vec![String::new()], ..WatchRequest::default() };
    assert_invalid(&rejection(calls.watches.clone().watch(watch).await), "names[0]", "1 to 255", &"empty name");

    assert_eq!(calls.revision().await.unwrap(), before, "bad input had an effect");
    assert_eq!(calls.lock("held").await.unwrap().holders[0].token, token);
    assert_eq!(calls.lock("fine").await.unwrap().holders, []);
}

async fn bad_tokens(calls: &Calls, token: u64, other: u64) {
    let head = calls.revision().await.unwrap();
    for (bad, bound) in [(0, "1 to".to_owned()), (u64::MAX, "1 to".to_owned()), (head + 1, format!("at most {head}"))] {
        assert_invalid(&rejection(calls.release("held", "holder", bad).await), "token", &bound, &bad);
    }
    // The token of another lock, and one that never was a token of this session.
    for wrong in [other, token - 1] {
        let rejected = rejection(calls.release("held", "holder", wrong).await);
        assert_eq!((rejected.code, rejected.reason.as_str()), (Code::FailedPrecondition, "TOKEN_MISMATCH"));
        assert_eq!(rejected.fact("token"), wrong.to_string());
    }
    let rejected = rejection(calls.release("held", "other", token).await);
    assert_eq!(rejected.reason, "NOT_HOLDER");
    assert_eq!((rejected.fact("name"), rejected.fact("holder")), ("held", "holder"));
    let no_name = ReleaseRequest { session_id: "holder".into(), token, ..ReleaseRequest::default() };
    assert_invalid(&rejection(calls.locks.clone().release(no_name).await), "name", "1 to 255", &"no name");
    let evict = EvictRequest { name: "held".into(), ..EvictRequest::default() };
    assert_invalid(&rejection(calls.locks.clone().evict(evict).await), "operator", "1 to 255", &"no operator");
}

async fn unknown_sessions(calls: &Calls) {
    let mut sessions = calls.sessions.clone();
    let id = || "unknown".to_owned();
    let rejections = [
        rejection(calls.acquire(AcquireRequest { session_id: id(), ttl: None, ..valid_acquire() }).await),
        rejection(calls.release("held", "unknown", 1).await),
        rejection(sessions.renew(RenewRequest { session_id: id(), ..RenewRequest::default() }).await),
        rejection(sessions.get_session(GetSessionRequest { session_id: id(), ..GetSessionRequest::default() }).await),
    ];
    for rejected in rejections {
        assert_eq!((rejected.code, rejected.reason.as_str()), (Code::NotFound, "SESSION_NOT_FOUND"), "{rejected:?}");
        assert_eq!(rejected.fact("session_id"), "unknown");
    }
}

async fn bad_pages(calls: &Calls) {
    let mut locks = calls.locks.clone();
    let first = ListLocksRequest { page_size: 1, ..ListLocksRequest::default() };
    let page = locks.list_locks(first).await.unwrap().into_inner();
    assert_eq!(page.locks.len(), 1);
    // Page tokens of a list with another prefix, of no list, and a corrupted one.
    for (token, prefix) in [(page.next_page_token.clone(), "h"), ("forged".into(), ""), ("!".into(), "")] {
        let request = ListLocksRequest { page_token: token, prefix: prefix.into(), ..ListLocksRequest::default() };
        assert_invalid(&rejection(locks.list_locks(request).await), "page_token", "next_page_token", &prefix);
    }
    let request = ListSessionsRequest { page_token: page.next_page_token, ..ListSessionsRequest::default() };
    let rejected = rejection(calls.sessions.clone().list_sessions(request).await);
    assert_invalid(&rejected, "page_token", "next_page_token", &"of another list");
    for page_size in [-1, 1001, i32::MIN] {
        let request = ListLocksRequest { page_size, ..ListLocksRequest::default() };
        assert_invalid(&rejection(locks.list_locks(request).await), "page_size", "0 to 1000", &page_size);
    }
}

#[track_caller]
fn assert_invalid(rejected: &Rejection, field: &str, bound: &str, what: &dyn std::fmt::Debug) {
    let seen = (rejected.code, rejected.reason.as_str(), rejected.fact("field"));
    assert_eq!(seen, (Code::InvalidArgument, "INVALID_FIELD", field), "{what:?}: {rejected:?}");
    assert!(rejected.fact("bound").contains(bound), "{what:?}: {rejected:?}");
    assert!(rejected.message.contains(field), "{what:?}: {rejected:?}");
}

/// An Acquire that no generated code would send: its name may be any bytes.
async fn acquire_bytes(calls: &Calls, name: &[u8]) -> Result<AcquireResponse, tonic::Status> {
    #[derive(Clone, PartialEq, prost::Message)]
    struct Bytes {
        #[prost(bytes = "vec", repeated, tag = "2")]
        names: Vec<Vec<u8>>,
        #[prost(string, tag = "3")]
        session_id: String,
        #[prost(message, optional, tag = "4")]
        ttl: Option<ProtoDuration>,
    }
    let request = Bytes { names: vec![name.to_vec()], session_id: "fine".into(), ttl: Some(seconds(60.0)) };
    let mut grpc = Grpc::new(calls.channel.clone());
    grpc.ready().await.map_err(|error| tonic::Status::unknown(error.to_string()))?;
    let codec = tonic_prost::ProstCodec::<Bytes, AcquireResponse>::default();
    let path = PathAndQuery::from_static("/tenure.v1.LockService/Acquire");
    Ok(grpc.unary(tonic::Request::new(request), path, codec).await?.into_inner())
}

async fn similar_names_are_different_locks(store: Store) {
    let mut server = store.server().await.unwrap();
    let calls = Calls::connect(&server.url()).await.unwrap();
    let alike = [
        "cafe",
        "Cafe",
        "CAFE",
        "cafe ",
        " cafe",
        "café",
        "cafe\u{301}",
        "cafe\u{200b}",
        "ｃａｆｅ",
        "straße",
        "strasse",
    ];
    for name in alike {
        // Session ids must be distinguished likewise.
        assert!(calls.try_lock(name, name, TTL).await.unwrap().acquired, "{name:?} is held already");
    }
    let mut expected: Vec<&str> = alike.to_vec();
    expected.sort_unstable();
    let listed = |list: tenure_proto::v1::ListLocksResponse| -> Vec<String> {
        list.locks.into_iter().map(|lock| lock.name).collect()
    };
    let list = calls.locks.clone().list_locks(ListLocksRequest::default()).await.unwrap().into_inner();
    assert_eq!(listed(list), expected);

    // The database distinguishes them as well.
    server.kill().await.unwrap();
    server.start_again().await.unwrap();
    let calls = Calls::connect(&server.url()).await.unwrap();
    for name in alike {
        assert_eq!(calls.lock(name).await.unwrap().holders[0].session_id, name);
    }
    let list = calls.locks.clone().list_locks(ListLocksRequest::default()).await.unwrap().into_inner();
    assert_eq!(listed(list), expected);
}
