//! What the client library reads from server replies.

use prost::Message;
use prost::bytes::Bytes;
use tenure_client::Error;
use tenure_client::v1::{ClaimState, EndReason, ErrorReason, Lock, Refusal};
use tonic::{Code, Status};

/// Only a held claim is a holder, and a rejection is classified by its reason alone.
pub fn client(data: &[u8]) {
    match data.split_first() {
        Some((b'l', rest)) => Lock::decode(rest).map_or((), |lock| check_lock(&lock)),
        Some((b'r', rest)) => Refusal::decode(rest).map_or((), |refusal| check_refusal(&refusal)),
        Some((code, details)) => check_status(Code::from_i32(i32::from(*code)), details),
        None => {}
    }
}

fn check_lock(lock: &Lock) {
    let held = lock.holders.iter().filter(|claim| claim.state == ClaimState::Held as i32);
    assert!(lock.holder().into_iter().eq(held.take(1)), "{lock:?}");
}

fn check_refusal(refusal: &Refusal) {
    let known = refusal.error_reason();
    if known != ErrorReason::Unspecified {
        assert_eq!(known.as_str_name(), format!("ERROR_REASON_{}", refusal.reason));
    }
    match (refusal.end_reason(), refusal.metadata.get("end_reason")) {
        (Some(EndReason::Unspecified), Some(_)) | (None, None) => {}
        (Some(known), Some(word)) => assert_eq!(known.word(), word),
        other => panic!("{other:?} of {refusal:?}"),
    }
    assert!(!refusal.to_string().is_empty());
}

/// A rejection without a reason of ours is classified by its code, or counts as no reply.
fn check_status(code: Code, details: &[u8]) {
    let error = Error::from(Status::with_details(code, "message", Bytes::copy_from_slice(details)));
    let is_silent = matches!(code, Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled | Code::Unknown);
    match error.reason() {
        None => assert!(is_silent && error.is_transient(), "{error:?}"),
        Some(ErrorReason::Unspecified) => assert!(!error.is_transient(), "an unknown reason is retried: {error:?}"),
        Some(_) => assert!(details.windows(6).any(|part| part == b"tenure"), "{error:?}"),
    }
    if let Error::Refused(refusal) = &error {
        assert_eq!(Code::from(refusal.code), code);
        check_refusal(refusal);
    }
    assert!(!error.to_string().is_empty());
}
