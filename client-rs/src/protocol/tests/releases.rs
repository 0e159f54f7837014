//! Releases that are refused.

use super::*;
use crate::error::Reason;
use crate::model::EndReason;

/// The error of a release that the server rejects with this reason.
fn release_error(reason: &str, metadata: &[(&str, &str)]) -> Error {
    let mut bench = Bench::new();
    let session = bench.session("a");
    let (key, mut granted) = bench.acquire(&session, Wait::Forever);
    let (command, _) = bench.sent_one();
    bench.receive(command, acquired(3));
    let _guard = guard_of(&mut granted);
    let (reply, mut answer) = oneshot::channel();
    bench.engine.release(&session.handle().id, key, Some((reply, bench.now.after(CALL))), bench.now);
    let (command, _) = bench.sent_one();
    let metadata = metadata.iter().map(|(fact, value)| ((*fact).to_owned(), (*value).to_owned())).collect();
    let refusal = v1::Refusal { reason: reason.to_owned(), metadata, ..Default::default() };
    bench.receive(command, Answered::Refusal(refusal));
    answer.try_recv().unwrap().unwrap_err()
}

#[test]
fn release_of_a_hold_ended_by_the_server_returns_lost() {
    let evicted = LostReason::Ended { reason: EndReason::Evicted, operator: None, note: None };
    let error = release_error("HOLD_ENDED", &[("name", "job"), ("end_reason", "evicted")]);
    assert!(matches!(&error, Error::Lost(reason) if *reason == evicted), "{error:?}");
}

#[test]
fn release_returns_other_rejections() {
    let error = release_error("NOT_HOLDER", &[("name", "job")]);
    assert_eq!(error.reason(), Some(&Reason::NotHolder), "{error:?}");
}
