//! The client library's decoding of servers' answers.

use prost::Message;
use prost::bytes::Bytes;
use tenure_client::{Claim, Error, Event, EventKind, Lock, LockSettings, Reason, SessionInfo};
use tenure_proto::v1;
use tonic::{Code, Status};

/// Each decodable answer becomes one of the library's types with the same content; a rejection is classified by its
/// reason alone.
pub fn client(data: &[u8]) {
    match data.split_first() {
        Some((b'l', rest)) => v1::Lock::decode(rest).map_or((), |lock| check_lock(&lock)),
        Some((b's', rest)) => v1::Session::decode(rest).map_or((), |session| check_session(&session)),
        Some((b'e', rest)) => v1::Event::decode(rest).map_or((), |event| check_event(&event)),
        Some((code, details)) => check_status(Code::from_i32(i32::from(*code)), details),
        None => {}
    }
}

fn check_lock(told: &v1::Lock) {
    let lock = Lock::from(told.clone());
    assert_eq!((&lock.name, lock.waiter_count, lock.holder_count), (&told.name, told.waiter_count, told.holder_count));
    assert_eq!(lock.limit.unwrap_or_default(), told.limit);
    assert_eq!((lock.holders.len(), lock.waiters.len()), (told.holders.len(), told.waiters.len()));
    let claims = lock.holders.iter().zip(&told.holders).chain(lock.waiters.iter().zip(&told.waiters));
    claims.for_each(|(claim, told)| check_claim(claim, told));
    let settings = v1::LockSettings::from(lock.settings);
    assert_eq!(LockSettings::from(settings), lock.settings, "settings go back as they came");
}

fn check_claim(claim: &Claim, told: &v1::Claim) {
    assert_eq!((claim.id, &claim.names, &claim.session_id), (told.id, &told.names, &told.session_id));
    assert_eq!(claim.token.unwrap_or_default(), told.token, "a token is never made up");
    assert!(claim.token != Some(0) && claim.metadata.len() == told.metadata.len());
}

fn check_session(told: &v1::Session) {
    let session = SessionInfo::from(told.clone());
    assert_eq!((&session.id, &session.owner, session.home), (&told.id, &told.owner, told.home));
    assert_eq!(session.remaining.is_some(), told.remaining.is_some());
    let nanos = told.ttl.map_or(0, |ttl| i128::from(ttl.seconds) * 1_000_000_000 + i128::from(ttl.nanos));
    assert!(session.ttl.as_nanos() <= nanos.max(0).unsigned_abs(), "no time is made up: {told:?}");
    session.claims.iter().zip(&told.claims).for_each(|(claim, told)| check_claim(claim, told));
}

fn check_event(told: &v1::Event) {
    let events = Event::of_each_lock(told.clone());
    assert!(events.iter().map(|event| &event.name).eq(&told.names), "one of each lock");
    events.iter().for_each(|event| check_event_of_lock(event, told));
}

fn check_event_of_lock(event: &Event, told: &v1::Event) {
    assert_eq!((event.revision, event.vacant), (told.revision, told.vacant_names.contains(&event.name)));
    assert_eq!(event.kind == EventKind::Unknown, told.r#type() == v1::EventType::Unspecified);
    assert_eq!(event.settings.is_some(), event.kind == EventKind::Configured);
    assert_eq!(event.end_reason.is_some(), told.end_reason != 0);
    let claims = [(&event.claim, &told.claim), (&event.previous, &told.previous)];
    for (claim, told) in claims {
        assert_eq!(claim.is_some(), told.is_some());
        claim.iter().zip(told).for_each(|(claim, told)| check_claim(claim, told));
    }
}

/// A rejection without a reason of ours is classified by its code, or counts as no answer.
fn check_status(code: Code, details: &[u8]) {
    let error = Error::from(Status::with_details(code, "told", Bytes::copy_from_slice(details)));
    let is_silent = matches!(code, Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled | Code::Unknown);
    match error.reason() {
        None => assert!(is_silent && error.is_transient(), "{error:?}"),
        Some(Reason::Other(_)) => assert!(!error.is_transient(), "what is not known is not tried again: {error:?}"),
        Some(_) => assert!(details.windows(6).any(|part| part == b"tenure"), "{error:?}"),
    }
    assert!(!error.to_string().is_empty());
}
