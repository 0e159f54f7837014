//! The client library's decoding of server replies.

use prost::Message;
use prost::bytes::Bytes;
use tenure_client::{Claim, Error, Event, EventKind, Lock, LockSettings, Reason, SessionInfo};
use tenure_proto::v1;
use tonic::{Code, Status};

/// Each decodable reply becomes one of the library's types with the same content; a rejection is classified by its
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

fn check_lock(wire: &v1::Lock) {
    let lock = Lock::from(wire.clone());
    assert_eq!((&lock.name, lock.waiter_count, lock.holder_count), (&wire.name, wire.waiter_count, wire.holder_count));
    assert_eq!(lock.limit.unwrap_or_default(), wire.limit);
    assert_eq!((lock.holders.len(), lock.waiters.len()), (wire.holders.len(), wire.waiters.len()));
    let claims = lock.holders.iter().zip(&wire.holders).chain(lock.waiters.iter().zip(&wire.waiters));
    claims.for_each(|(claim, wire)| check_claim(claim, wire));
    let settings = v1::LockSettings::from(lock.settings);
    assert_eq!(LockSettings::from(settings), lock.settings, "settings round-trip");
}

fn check_claim(claim: &Claim, wire: &v1::Claim) {
    assert_eq!((claim.id, &claim.names, &claim.session_id), (wire.id, &wire.names, &wire.session_id));
    assert_eq!(claim.token.unwrap_or_default(), wire.token, "the token is not that of the reply");
    assert!(claim.token != Some(0) && claim.metadata.len() == wire.metadata.len());
}

fn check_session(wire: &v1::Session) {
    let session = SessionInfo::from(wire.clone());
    assert_eq!((&session.id, &session.owner, session.home), (&wire.id, &wire.owner, wire.home));
    assert_eq!(session.remaining.is_some(), wire.remaining.is_some());
    let nanos = wire.ttl.map_or(0, |ttl| i128::from(ttl.seconds) * 1_000_000_000 + i128::from(ttl.nanos));
    assert!(session.ttl.as_nanos() <= nanos.max(0).unsigned_abs(), "the TTL exceeds that of the reply: {wire:?}");
    session.claims.iter().zip(&wire.claims).for_each(|(claim, wire)| check_claim(claim, wire));
}

fn check_event(wire: &v1::Event) {
    let events = Event::of_each_lock(wire.clone());
    assert!(events.iter().map(|event| &event.name).eq(&wire.names), "not one event for each lock");
    events.iter().for_each(|event| check_event_of_lock(event, wire));
}

fn check_event_of_lock(event: &Event, wire: &v1::Event) {
    assert_eq!((event.revision, event.vacant), (wire.revision, wire.vacant_names.contains(&event.name)));
    assert_eq!(event.kind == EventKind::Unknown, wire.r#type() == v1::EventType::Unspecified);
    assert_eq!(event.settings.is_some(), event.kind == EventKind::Configured);
    assert_eq!(event.end_reason.is_some(), wire.end_reason != 0);
    let claims = [(&event.claim, &wire.claim), (&event.previous, &wire.previous)];
    for (claim, wire) in claims {
        assert_eq!(claim.is_some(), wire.is_some());
        claim.iter().zip(wire).for_each(|(claim, wire)| check_claim(claim, wire));
    }
}

/// A rejection without a reason of ours is classified by its code, or counts as no reply.
fn check_status(code: Code, details: &[u8]) {
    let error = Error::from(Status::with_details(code, "message", Bytes::copy_from_slice(details)));
    let is_silent = matches!(code, Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled | Code::Unknown);
    match error.reason() {
        None => assert!(is_silent && error.is_transient(), "{error:?}"),
        Some(Reason::Other(_)) => assert!(!error.is_transient(), "an unknown reason is retried: {error:?}"),
        Some(_) => assert!(details.windows(6).any(|part| part == b"tenure"), "{error:?}"),
    }
    assert!(!error.to_string().is_empty());
}
