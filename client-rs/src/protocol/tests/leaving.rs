//! When the client leaves its server.

use super::*;

#[test]
fn server_that_is_going_away_is_left_once() {
    let mut bench = Bench::connected();
    bench.receive(Received::GoingAway(v1::GoingAway::default()));
    bench.receive(Received::GoingAway(v1::GoingAway::default()));
    assert_eq!(bench.events(), [Event::Leave]);
}

#[test]
fn server_that_does_not_acknowledge_is_left_in_time() {
    let mut bench = Bench::connected();
    bench.session();
    bench.pass(RENEW_AFTER + VALID_FOR / 4 - ms(1));
    assert!(bench.events().is_empty());
    bench.pass(ms(1));
    assert_eq!(bench.events(), [Event::Leave]);
}

#[test]
fn server_that_does_not_welcome_is_left() {
    let mut bench = Bench::new();
    bench.connect();
    bench.pass(ms(999));
    assert!(bench.events().is_empty());
    bench.pass(ms(1));
    assert_eq!(bench.events(), [Event::Leave]);
}

#[test]
fn slow_reply_is_probed_and_left_only_without_a_session() {
    for has_session in [false, true] {
        let mut bench = Bench::connected();
        if has_session {
            bench.session();
        }
        bench.open();
        bench.changes();
        // The probe, and the renewals of the session.
        for pause in [250, 150, 400, 199] {
            bench.pass(ms(pause));
            let sent = bench.sent();
            assert!(has_session || pause != 250 || sent.len() == 1, "{sent:?}");
            for sent in sent {
                let Sent::KeepAlive(keep_alive) = sent else { panic!("not a keep-alive: {sent:?}") };
                bench.kept(keep_alive.number);
            }
        }
        assert!(!bench.events().contains(&Event::Leave));
        bench.pass(ms(1));
        assert_eq!(bench.events().contains(&Event::Leave), !has_session);
    }
}

#[test]
fn rejection_by_a_draining_server_makes_the_client_leave() {
    for (reason, is_left) in [("DRAINING", true), ("STORE_UNAVAILABLE", false), ("LIMIT_REACHED", false)] {
        let mut bench = Bench::connected();
        let session = bench.session();
        let claim = bench.claim(session);
        let refusal = v1::Refusal { reason: reason.into(), ..v1::Refusal::default() };
        bench.states([(claim, state::Kind::Rejected(Box::new(refusal)))]);
        assert_eq!(bench.events().contains(&Event::Leave), is_left, "{reason}");
    }
}
