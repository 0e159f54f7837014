//! Notices that overtake the answer to which they belong.

use super::*;
use crate::model::EndReason;

fn evicted(token: u64) -> Answered {
    Answered::HoldEnded(Box::new(v1::HoldEnded {
        session_id: "a".into(),
        names: vec!["job".to_owned()],
        token,
        reason: v1::EndReason::Evicted.into(),
        operator: "ops".into(),
        ..Default::default()
    }))
}

#[test]
fn end_of_a_hold_may_arrive_before_its_grant() {
    let mut bench = Bench::new();
    let session = bench.session("a");
    let (_, mut answer) = bench.acquire(&session, Wait::Forever);
    let (command, _) = bench.sent_one();
    bench.receive(0, evicted(3));
    bench.receive(command, acquired(3));
    let guard = guard_of(&mut answer);
    let reason = LostReason::Ended { reason: EndReason::Evicted, operator: Some("ops".into()), note: None };
    assert_eq!(guard.lost_reason(), Some(reason));
    drop(guard);
    bench.take_notes();
    assert!(bench.sent().is_empty(), "there is nothing to give back");
    let _next = bench.hold(&session, 5);
}

#[test]
fn end_of_an_earlier_hold_does_not_end_the_next() {
    let mut bench = Bench::new();
    let session = bench.session("a");
    let (_, mut answer) = bench.acquire(&session, Wait::Forever);
    let (command, _) = bench.sent_one();
    bench.receive(0, evicted(3));
    bench.receive(command, acquired(5));
    assert!(guard_of(&mut answer).is_valid());
}

#[test]
fn transfer_request_may_arrive_before_the_grant() {
    let mut bench = Bench::new();
    let session = bench.session("a");
    let (_, mut answer) = bench.acquire(&session, Wait::Forever);
    let (command, _) = bench.sent_one();
    let request = v1::TransferRequested {
        session_id: "a".into(),
        names: vec!["job".to_owned()],
        token: 3,
        drain: Some(to_wire(TTL)),
        ..Default::default()
    };
    bench.receive(0, Answered::TransferRequested(Box::new(request)));
    bench.receive(command, acquired(3));
    let guard = guard_of(&mut answer);
    assert!(guard.is_valid());
    assert_eq!(guard.transfer_request().map(|request| request.drain), Some(TTL));
}
