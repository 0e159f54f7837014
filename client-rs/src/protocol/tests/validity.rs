//! How long sessions are valid.

use super::*;

#[test]
fn session_is_valid_from_the_declaration_and_then_from_each_keep_alive() {
    let mut bench = Bench::connected();
    let session = bench.open();
    bench.sent();
    bench.pass(ms(100));
    bench.states([(session, opened())]);
    let validity = bench.validity();
    assert_eq!((validity.renewed, validity.until()), (at(10_000), at(11_100)));
    bench.pass(ms(299));
    assert!(bench.sent().is_empty());
    bench.pass(ms(1));
    let number = bench.keep_alive();
    bench.pass(ms(100));
    bench.kept(number);
    assert_eq!(bench.validity().until(), at(11_500));
    bench.pass(ms(300));
    bench.keep_alive();
}

#[test]
fn keep_alives_follow_the_session_that_needs_them_first() {
    let mut bench = Bench::connected();
    let slow = bench.open();
    let state = |renew_after| {
        state::Kind::Open(v1::OpenState {
            renew_after: Some(to_wire(renew_after)),
            warn_after: Some(to_wire(ms(20_000))),
            valid_for: Some(to_wire(ms(30_000))),
            ..v1::OpenState::default()
        })
    };
    bench.states([(slow, state(ms(10_000)))]);
    bench.sent();
    bench.pass(ms(1_000));
    let fast = bench.open();
    bench.states([(fast, state(ms(1_000)))]);
    bench.sent();
    bench.pass(ms(1_000));
    let number = bench.keep_alive();
    bench.kept(number);
    bench.states([(fast, ended(v1::EndReason::Closed))]);
    bench.pass(ms(10_000));
    bench.keep_alive();
}

#[test]
fn session_that_is_not_renewed_is_lost() {
    let mut bench = Bench::connected();
    let session = bench.session();
    let claim = bench.hold(session, 7);
    bench.pass(WARN_AFTER - ms(1));
    bench.pass(VALID_FOR - WARN_AFTER);
    assert_eq!(bench.events(), [Event::Leave]);
    bench.sent();
    bench.pass(ms(1));
    assert_eq!(bench.ends(), [(session, End::Lost(LostReason::Unrenewed)), (claim, End::Lost(LostReason::Unrenewed))]);
    assert_eq!(bench.changes(), [Changed::Withdraw(session)]);
    bench.reconnect();
    assert!(bench.hello().known.is_empty(), "the server is to end it");
}

#[test]
fn process_suspended_beyond_the_validity_loses_its_sessions_whatever_has_arrived() {
    let mut bench = Bench::connected();
    let session = bench.session();
    bench.pass(RENEW_AFTER);
    let number = bench.keep_alive();
    bench.now = bench.now.after(ms(700));
    bench.kept(number);
    assert_eq!(bench.ends(), [(session, End::Lost(LostReason::Unrenewed))]);
    bench.states([(session, opened())]);
    assert!(bench.events().is_empty());
}

#[test]
fn session_whose_state_arrives_too_late_is_lost() {
    let mut bench = Bench::connected();
    let session = bench.open();
    bench.sent();
    bench.now = bench.now.after(VALID_FOR);
    bench.states([(session, opened())]);
    assert_eq!(bench.ends(), [(session, End::Lost(LostReason::Unrenewed))]);
}

#[test]
fn hello_renews_once_the_session_is_reported() {
    let mut bench = Bench::connected();
    let session = bench.session();
    bench.pass(ms(300));
    bench.reconnect();
    bench.hello();
    bench.pass(ms(100));
    bench.welcome();
    assert!(bench.events().is_empty(), "the session may have ended");
    bench.pass(ms(300));
    let number = bench.keep_alive();
    bench.kept(number);
    assert!(bench.events().is_empty());
    bench.states([(session, opened())]);
    assert_eq!(bench.validity().renewed, at(10_300));
}

#[test]
fn keep_alive_acknowledged_on_an_earlier_stream_does_not_count() {
    let mut bench = Bench::connected();
    let session = bench.session();
    bench.pass(RENEW_AFTER);
    let number = bench.keep_alive();
    let old = bench.epoch;
    bench.pass(ms(50));
    bench.connect();
    bench.receive_from(old, kept(number));
    bench.welcome();
    assert!(bench.events().is_empty());
    bench.states([(session, opened())]);
    assert_eq!(bench.validity().renewed, at(10_450));
}

#[test]
fn paused_session_ages_and_resumed_one_is_renewed() {
    let mut bench = Bench::connected();
    let session = bench.session();
    bench.pass(RENEW_AFTER);
    let before = bench.keep_alive();
    bench.ask(Changed::Pause(session));
    bench.ask(Changed::Pause(session));
    assert_eq!(bench.changes(), [Changed::Pause(session)]);
    assert!(bench.validity().is_paused);
    bench.kept(before);
    assert_eq!(bench.validity().renewed, at(10_400), "sent before the pause");
    bench.pass(RENEW_AFTER);
    bench.sent().into_iter().for_each(|sent| assert!(!matches!(sent, Sent::KeepAlive(_)), "nothing to renew"));
    bench.reconnect();
    let hello = bench.hello();
    assert_eq!((hello.known, hello.paused), (vec![session], vec![session]));
    bench.welcome();
    bench.events();
    bench.states([(session, opened())]);
    let events = bench.events();
    assert!(
        matches!(events[..], [Event::Changed { status: Status::Open(validity), .. }, ..] if validity.renewed == at(10_400)),
        "{events:?}"
    );
    bench.pass(ms(100));
    bench.ask(Changed::Resume(session));
    let sent = bench.sent();
    let [Sent::Changes(changes), Sent::KeepAlive(after)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(changes.changes[0].kind, Some(Changed::Resume(session)));
    bench.events();
    bench.kept(after.number);
    assert_eq!(bench.validity().renewed, at(10_900));
}

#[test]
fn paused_session_is_lost_as_paused() {
    let mut bench = Bench::connected();
    let session = bench.session();
    bench.ask(Changed::Pause(session));
    bench.pass(VALID_FOR);
    assert_eq!(bench.ends(), [(session, End::Lost(LostReason::Stalled))]);
}

#[test]
fn session_is_paused_only_once_it_is_open() {
    let mut bench = Bench::connected();
    let session = bench.open();
    bench.changes();
    bench.ask(Changed::Pause(session));
    assert!(bench.changes().is_empty());
    bench.states([(session, opened())]);
    bench.ask(Changed::Pause(session));
    assert_eq!(bench.changes(), [Changed::Pause(session)]);
}
