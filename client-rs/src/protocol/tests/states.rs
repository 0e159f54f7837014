//! What the states of the server cause.

use super::*;

#[test]
fn claim_waits_and_is_held() {
    let mut bench = Bench::connected();
    let session = bench.session();
    let claim = bench.claim(session);
    let holder = Box::new(v1::Claim { token: 3, ..v1::Claim::default() });
    let waiting = state::Kind::Waiting(v1::WaitingState { holder: Some(holder.clone()) });
    let transfer = v1::PendingTransfer { operator: "op".into(), ..v1::PendingTransfer::default() };
    let requested = state::Kind::Held(v1::HeldState { token: 7, transfer: Some(transfer.clone()) });
    bench.states([(claim, waiting), (claim, held(7)), (claim, requested)]);
    let expected = [
        changed(claim, Status::Waiting(v1::BusyState { holder: Some(holder) })),
        changed(claim, Status::Held { token: 7, transfer: None }),
        changed(claim, Status::Held { token: 7, transfer: Some((transfer, bench.now)) }),
    ];
    assert_eq!(bench.events(), expected);
}

#[test]
fn session_opened_for_a_busy_lock_ends_with_it() {
    let mut bench = Bench::connected();
    let session = bench.ask(Changed::Declare(opening(vec![claim_to("job")])));
    let [Changed::Declare(declared)] = &bench.changes()[..] else { panic!("not one declaration") };
    assert_eq!((declared.session, declared.claims[0].number), (session, session + 1));
    let busy = || state::Kind::Busy(v1::BusyState::default());
    bench.states([(session + 1, busy()), (session, busy())]);
    let busy = || End::Busy(v1::BusyState::default());
    assert_eq!(bench.ends(), [(session + 1, busy()), (session, busy())]);
    assert!(bench.protocol.items.is_empty());
}

#[test]
fn rejected_session_ends_with_everything_in_it() {
    let mut bench = Bench::connected();
    let session = bench.open();
    let claim = bench.claim(session);
    let refusal = Box::new(v1::Refusal { reason: "INVALID_FIELD".into(), ..v1::Refusal::default() });
    bench.states([(session, state::Kind::Rejected(refusal.clone()))]);
    assert_eq!(bench.ends(), [(session, End::Rejected(refusal.clone())), (claim, End::Rejected(refusal))]);
    let late = bench.claim(session);
    assert_eq!(bench.ends(), [(late, End::Lost(LostReason::Forgotten))]);
}

#[test]
fn states_after_a_withdrawal_are_ignored_until_the_end() {
    let mut bench = Bench::connected();
    let session = bench.session();
    let claim = bench.claim(session);
    bench.ask(Changed::Withdraw(claim));
    bench.ask(Changed::Withdraw(claim));
    assert_eq!(bench.protocol.poll_event(), Some(changed(claim, Status::Withdrawn)));
    assert_eq!(bench.changes().len(), 2, "declared, and withdrawn once");
    bench.states([(claim, held(7))]);
    assert!(bench.events().is_empty());
    bench.states([(claim, ended(v1::EndReason::Released)), (claim, held(7))]);
    assert_eq!(bench.ends(), [(claim, End::Withdrawn)]);
}

#[test]
fn withdrawn_session_ends_with_everything_in_it() {
    let mut bench = Bench::connected();
    let session = bench.session();
    let claim = bench.hold(session, 7);
    bench.ask(Changed::Withdraw(session));
    bench.ask(Changed::Withdraw(claim));
    let in_order = [changed(session, Status::Withdrawn), changed(claim, Status::Withdrawn)];
    assert!(std::iter::from_fn(|| bench.protocol.poll_event()).eq(in_order), "no claim seems to be withdrawn alone");
    assert_eq!(bench.changes(), [Changed::Withdraw(session)]);
    let late = bench.claim(session);
    assert_eq!(bench.ends(), [(late, End::Lost(LostReason::Forgotten))]);
    bench.states([(session, ended(v1::EndReason::Closed))]);
    assert_eq!(bench.ends(), [(session, End::Withdrawn), (claim, End::Withdrawn)]);
    bench.pass(VALID_FOR * 2);
    assert!(bench.sent().is_empty() && bench.events().is_empty(), "nothing is left to renew");
}

#[test]
fn hold_that_the_database_lost_ends_at_once() {
    for state in [held(9), state::Kind::Waiting(v1::WaitingState::default())] {
        let mut bench = Bench::connected();
        let session = bench.session();
        let claim = bench.hold(session, 7);
        bench.reconnect();
        bench.hello();
        bench.welcome();
        bench.states([(session, opened()), (claim, state)]);
        assert_eq!(bench.ends(), [(claim, End::Lost(LostReason::Forgotten))]);
        assert_eq!(bench.changes(), [Changed::Withdraw(claim)]);
        bench.states([(claim, ended(v1::EndReason::Released))]);
        assert!(bench.events().is_empty());
    }
}

#[test]
fn withdrawn_hold_is_released_unless_it_was_lost_before() {
    use v1::EndReason::{Closed, Disconnected, Evicted, Expired, Released, Transferred, Unspecified};
    for reason in [Released, Transferred, Closed, Unspecified, Expired, Disconnected, Evicted] {
        let mut bench = Bench::connected();
        let session = bench.session();
        let claim = bench.hold(session, 7);
        bench.ask(Changed::Withdraw(claim));
        bench.states([(claim, ended(reason))]);
        let is_lost = matches!(reason, Expired | Disconnected | Evicted);
        assert_eq!(bench.ends(), [(claim, if is_lost { reported(reason) } else { End::Withdrawn })]);
    }
}

#[test]
fn withdrawn_hold_that_waits_again_is_not_reported_as_released() {
    let mut bench = Bench::connected();
    let session = bench.session();
    let claim = bench.hold(session, 7);
    bench.ask(Changed::Withdraw(claim));
    bench.states([(claim, state::Kind::Waiting(v1::WaitingState::default()))]);
    assert_eq!(bench.ends(), [(claim, End::Lost(LostReason::Forgotten))]);
}

#[test]
fn released_hold_that_the_database_lost_is_not_reported_as_released() {
    for (lost_revision, end) in [(7, End::Withdrawn), (8, End::Lost(LostReason::Forgotten))] {
        let mut bench = Bench::connected();
        let session = bench.session();
        let claim = bench.hold(session, 7);
        bench.ask(Changed::Withdraw(claim));
        bench.reconnect();
        bench.sent();
        bench.receive(Received::Welcome(v1::Welcome { lost_revision, ..v1::Welcome::default() }));
        bench.states([(session, opened()), (claim, ended(v1::EndReason::Unspecified))]);
        assert_eq!(bench.ends(), [(claim, end)]);
    }
}

#[test]
fn states_of_an_earlier_stream_are_ignored() {
    let mut bench = Bench::connected();
    let session = bench.session();
    let claim = bench.claim(session);
    let old = bench.epoch;
    bench.connect();
    let state = v1::State { number: claim, kind: Some(held(7)) };
    bench.receive_from(old, Received::States(v1::States { states: vec![state] }));
    assert!(bench.events().is_empty());
    assert_eq!(bench.hello().declared[0].claims[0].number, claim);
}
