//! What a Hello states, and what becomes of that.

use super::*;

#[test]
fn hello_states_the_known_and_the_declared_in_order() {
    let mut bench = Bench::connected();
    let session = bench.session();
    let claim = bench.hold(session, 7);
    let (late, alone) = (bench.claim(session), bench.open());
    let both = bench.ask(Changed::Declare(opening(vec![claim_to("other")])));
    bench.reconnect();
    let hello = bench.hello();
    assert_eq!((hello.client_id.as_str(), hello.epoch, hello.more), ("client", 2, false));
    assert_eq!((hello.known, hello.paused), (vec![session, claim], vec![]));
    let [of_late, of_alone, of_both] = &hello.declared[..] else { panic!("{:?}", hello.declared) };
    assert_eq!((of_late.session, of_late.open.is_some(), of_late.claims[0].number), (session, false, late));
    assert_eq!((of_alone.session, of_alone.open.is_some(), of_alone.claims.len()), (alone, true, 0));
    assert_eq!((of_both.session, of_both.open.is_some(), of_both.claims[0].number), (both, true, both + 1));
}

#[test]
fn lost_hello_is_repeated_with_a_higher_epoch() {
    let mut bench = Bench::new();
    bench.connect();
    let session = bench.open();
    bench.sent();
    bench.reconnect();
    let first = bench.hello();
    assert_eq!(first.declared[0].session, session);
    bench.pass(ms(300));
    bench.reconnect();
    let second = bench.hello();
    assert_eq!(second, v1::Hello { epoch: first.epoch + 1, ..first });
    bench.pass(ms(50));
    bench.welcome();
    bench.events();
    bench.states([(session, opened())]);
    assert_eq!(bench.validity().renewed, at(10_300), "counts from the Hello that was answered");
}

#[test]
fn changes_in_flight_when_the_stream_breaks_are_stated_again() {
    let mut bench = Bench::connected();
    let session = bench.session();
    let (kept, dropped) = (bench.hold(session, 7), bench.hold(session, 8));
    let (lost, cancelled) = (bench.claim(session), bench.claim(session));
    bench.ask(Changed::Withdraw(dropped));
    bench.ask(Changed::Withdraw(cancelled));
    assert_eq!(bench.changes().len(), 4, "sent, and lost");
    bench.reconnect();
    let sent = bench.sent();
    let [Sent::Hello(hello), Sent::Changes(changes)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(hello.known, [session, kept, dropped], "so that the reason of its end is reported");
    assert_eq!(hello.declared[0].claims.iter().map(|claim| claim.number).collect::<Vec<_>>(), [lost]);
    let again: Vec<_> = changes.changes.iter().filter_map(|change| change.kind.clone()).collect();
    assert_eq!(again, [Changed::Withdraw(dropped)]);
    assert!(bench.events().is_empty());
    bench.welcome();
    assert_eq!(bench.ends(), [(cancelled, End::Withdrawn)], "the server has seen that it is not stated");
    bench.states([(dropped, ended(v1::EndReason::Evicted))]);
    assert_eq!(bench.ends(), [(dropped, reported(v1::EndReason::Evicted))]);
}

#[test]
fn session_that_is_closed_when_the_stream_breaks_is_closed_again_with_all_in_it() {
    let mut bench = Bench::connected();
    let session = bench.session();
    let claim = bench.hold(session, 7);
    bench.ask(Changed::Withdraw(session));
    bench.reconnect();
    let sent = bench.sent();
    let [Sent::Hello(hello), Sent::Changes(changes)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(hello.known, [session, claim]);
    let again: Vec<_> = changes.changes.iter().filter_map(|change| change.kind.clone()).collect();
    assert_eq!(again, [Changed::Withdraw(session)]);
}

#[test]
fn withdrawal_after_the_hello_is_confirmed_by_its_state() {
    let mut bench = Bench::connected();
    let session = bench.session();
    let claim = bench.hold(session, 7);
    bench.reconnect();
    assert_eq!(bench.hello().known, [session, claim]);
    bench.ask(Changed::Withdraw(claim));
    bench.welcome();
    bench.states([(claim, held(7))]);
    assert!(bench.events().is_empty());
    assert_eq!(bench.changes(), [Changed::Withdraw(claim)]);
    bench.states([(claim, ended(v1::EndReason::Released))]);
    assert_eq!(bench.ends(), [(claim, End::Withdrawn)]);
}

#[test]
fn what_was_never_sent_is_withdrawn_at_once() {
    let mut bench = Bench::new();
    let session = bench.open();
    let claim = bench.claim(session);
    bench.ask(Changed::Withdraw(session));
    assert_eq!(bench.ends(), [(session, End::Withdrawn), (claim, End::Withdrawn)]);
    assert!(bench.protocol.items.is_empty());
    bench.connect();
    let hello = bench.hello();
    assert!(hello.known.is_empty() && hello.declared.is_empty(), "{hello:?}");
}

#[test]
fn hello_states_no_more_than_servers_accept() {
    let mut bench = Bench::new();
    let label = "l".repeat(1_000);
    for _ in 0..3_000 {
        let metadata = [("label".to_owned(), label.clone())].into();
        let open = Some(v1::DeclaredSession { metadata, ..v1::DeclaredSession::default() });
        bench.ask(Changed::Declare(v1::Declaration { open, ..v1::Declaration::default() }));
    }
    bench.connect();
    let Some(Sent::Hello(hello)) = bench.sent().into_iter().next() else { panic!("no Hello") };
    assert!(hello.declared.is_empty(), "no server can have received them");
    let mut opened_by_stream = Vec::new();
    while opened_by_stream.iter().sum::<usize>() < 3_000 {
        bench.reconnect();
        let declared = bench.hello().declared;
        let bytes: usize = declared.iter().map(Message::encoded_len).sum();
        assert!(0 < bytes && bytes < 1 << 20, "{bytes}");
        bench.welcome();
        bench.states(declared.iter().map(|declared| (declared.session, opened())));
        opened_by_stream.push(declared.len());
    }
    assert_eq!(opened_by_stream.len(), 4, "{opened_by_stream:?}");
}

#[test]
fn ten_thousand_claims_are_declared_stated_in_parts_and_ended() {
    let mut bench = Bench::connected();
    let session = bench.session();
    let claims: Vec<u64> = (0..10_000).map(|_| bench.claim(session)).collect();
    let mut sizes = Vec::new();
    let mut count =
        |sent: Sent| sizes.extend(if let Sent::Changes(sent) = sent { Some(sent.changes.len()) } else { None });
    bench.sent().into_iter().for_each(&mut count);
    assert_eq!(sizes, [1_000; 10]);
    bench.states(claims.iter().map(|claim| (*claim, held(*claim))));
    assert_eq!(bench.events().len(), 10_000);
    bench.reconnect();
    assert_eq!(bench.hello().known.len(), 1 + 10_000);
    bench.states(claims.iter().map(|claim| (*claim, ended(v1::EndReason::Evicted))));
    assert_eq!(bench.ends().len(), 10_000);
    bench.reconnect();
    assert_eq!(bench.hello().known, [session]);
}

#[test]
fn hundred_thousand_claims_are_stated_in_parts() {
    let mut bench = Bench::connected();
    let session = bench.session();
    let claims: Vec<u64> = (0..100_000).map(|_| bench.claim(session)).collect();
    let mut confirmed = 0;
    while confirmed < claims.len() {
        let sent = bench.changes().len();
        assert!(sent > 0, "the rest is never declared");
        bench.states(claims[confirmed..confirmed + sent].iter().map(|claim| (*claim, held(*claim))));
        confirmed += sent;
    }
    bench.reconnect();
    let hellos: Vec<v1::Hello> = bench
        .sent()
        .into_iter()
        .filter_map(|sent| if let Sent::Hello(part) = sent { Some(part) } else { None })
        .collect();
    assert_eq!(hellos.iter().map(|part| part.more).collect::<Vec<_>>(), [true, false]);
    assert!(hellos.iter().all(|part| part.epoch == 2 && part.client_id == "client"));
    let stated = hellos.iter().flat_map(|part| &part.known).copied();
    assert!(stated.eq([session].into_iter().chain(claims)));
}

#[test]
fn superseded_client_loses_everything_and_takes_a_new_id() {
    let mut bench = Bench::connected();
    let session = bench.session();
    let claim = bench.hold(session, 7);
    bench.reconnect();
    bench.protocol.handle_superseded(bench.epoch - 1, "other".into());
    assert!(bench.events().is_empty(), "that was this client's own doing");
    bench.protocol.handle_superseded(bench.epoch, "other".into());
    assert_eq!(bench.ends(), [(session, End::Lost(LostReason::InUse)), (claim, End::Lost(LostReason::InUse))]);
    let next = bench.open();
    assert!(next > claim, "numbers are never used twice");
    bench.connect();
    let sent = bench.sent();
    let [Sent::Hello(hello), Sent::Changes(changes)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!((hello.client_id.as_str(), &hello.known, &hello.declared), ("other", &vec![], &vec![]));
    let Some(Changed::Declare(declared)) = &changes.changes[0].kind else { panic!("{changes:?}") };
    assert_eq!(declared.session, next);
}
