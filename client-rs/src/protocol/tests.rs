//! The protocol against a scripted server: the tests pass the time, and decide what arrives.

use std::time::Duration;

use proptest::prelude::*;
use prost::Message;
use tenure_proto::v1;
use tenure_proto::v1::change::Kind as Changed;
use tenure_proto::v1::connect_request::Kind as Sent;
use tenure_proto::v1::connect_response::Kind as Received;
use tenure_proto::v1::state;

use super::{Declared, End, Event, Protocol, Request, Validity};
use crate::clock::Moment;
use crate::convert::to_wire;

const RENEW_AFTER: Duration = ms(400);
const WARN_AFTER: Duration = ms(720);
const VALID_FOR: Duration = ms(1_100);

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn at(milliseconds: u64) -> Moment {
    Moment(ms(milliseconds))
}

/// A client's protocol, and the time.
struct Bench {
    protocol: Protocol,
    now: Moment,
    epoch: u64,
}

impl Bench {
    /// Not connected.
    fn new() -> Self {
        Self { protocol: Protocol::new("default".into(), "client".into()), now: at(10_000), epoch: 0 }
    }

    /// Connected and welcomed.
    fn connected() -> Self {
        let mut bench = Self::new();
        bench.connect();
        bench.hello();
        bench.welcome();
        bench.events();
        bench
    }

    fn connect(&mut self) {
        self.epoch = self.protocol.handle_connected(self.now);
    }

    fn reconnect(&mut self) {
        self.protocol.handle_disconnected(self.epoch);
        self.connect();
    }

    fn pass(&mut self, time: Duration) {
        let until = self.now.after(time);
        while let Some(next) = self.protocol.poll_timeout().filter(|next| *next <= until) {
            self.now = next.max(self.now);
            self.protocol.handle_timeout(self.now);
            assert!(self.protocol.poll_timeout().is_none_or(|next| next > self.now), "a timer that is always due");
        }
        self.now = until;
    }

    fn ask(&mut self, request: Request) -> u64 {
        self.protocol.handle_request(request, String::new(), self.now)
    }

    fn open(&mut self) -> u64 {
        self.ask(Request::Open { session: v1::DeclaredSession::default(), with: None })
    }

    /// An open session.
    fn session(&mut self) -> u64 {
        let session = self.open();
        self.sent();
        self.states([(session, opened())]);
        self.events();
        session
    }

    fn claim(&mut self, session: u64) -> u64 {
        self.ask(Request::Declare { session, declared: claim_to("job") })
    }

    /// A held claim.
    fn hold(&mut self, session: u64, token: u64) -> u64 {
        let claim = self.claim(session);
        self.sent();
        self.states([(claim, held(token))]);
        self.events();
        claim
    }

    /// All messages that are to be sent.
    fn sent(&mut self) -> Vec<Sent> {
        let mut sent = Vec::new();
        while let Some(request) = self.protocol.poll_transmit() {
            assert!(request.encoded_len() < 4 << 20);
            sent.extend(request.kind);
        }
        sent
    }

    fn hello(&mut self) -> v1::Hello {
        let mut sent = self.sent().into_iter();
        let (Some(Sent::Hello(hello)), None) = (sent.next(), sent.next()) else { panic!("not a Hello alone") };
        hello
    }

    fn changes(&mut self) -> Vec<Changed> {
        let sent = self.sent().into_iter().map(|sent| match sent {
            Sent::Changes(changes) => changes.changes,
            other => panic!("no changes but {other:?}"),
        });
        sent.flatten().filter_map(|change| change.kind).collect()
    }

    /// The one keep-alive that is to be sent.
    fn keep_alive(&mut self) -> u64 {
        let sent = self.sent();
        let [Sent::KeepAlive(keep_alive)] = sent[..] else { panic!("not a keep-alive alone: {sent:?}") };
        keep_alive.number
    }

    fn receive_from(&mut self, epoch: u64, kind: Received) {
        self.protocol.handle_response(epoch, v1::ConnectResponse { kind: Some(kind) }, self.now);
    }

    fn receive(&mut self, kind: Received) {
        self.receive_from(self.epoch, kind);
    }

    fn welcome(&mut self) {
        self.receive(Received::Welcome(v1::Welcome::default()));
    }

    fn states(&mut self, states: impl IntoIterator<Item = (u64, state::Kind)>) {
        let states = states.into_iter().map(|(number, kind)| v1::State { number, kind: Some(kind) }).collect();
        self.receive(Received::States(v1::States { states }));
    }

    fn kept(&mut self, number: u64) {
        self.receive(kept(number));
    }

    fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.protocol.poll_event()).collect()
    }

    /// The validity in the only event.
    fn validity(&mut self) -> Validity {
        match self.events()[..] {
            [Event::Open { validity, .. } | Event::Renewed { validity, .. }] => validity,
            ref other => panic!("no validity but {other:?}"),
        }
    }

    fn ends(&mut self) -> Vec<(u64, End)> {
        let ended = |event| if let Event::Ended { number, end } = event { Some((number, end)) } else { None };
        self.events().into_iter().filter_map(ended).collect()
    }
}

fn claim_to(name: &str) -> Declared {
    Declared::Claim(v1::DeclaredClaim { names: vec![name.into()], ..v1::DeclaredClaim::default() })
}

fn opened() -> state::Kind {
    state::Kind::Open(v1::OpenState {
        session_id: "a".into(),
        opened_revision: 1,
        renew_after: Some(to_wire(RENEW_AFTER)),
        warn_after: Some(to_wire(WARN_AFTER)),
        valid_for: Some(to_wire(VALID_FOR)),
    })
}

fn held(token: u64) -> state::Kind {
    state::Kind::Held(v1::HeldState { token, transfer: None })
}

fn ended(reason: v1::EndReason) -> state::Kind {
    state::Kind::Ended(v1::EndedState { reason: reason.into(), ..v1::EndedState::default() })
}

fn kept(number: u64) -> Received {
    Received::KeptAlive(v1::KeptAlive { number })
}

fn reported(reason: v1::EndReason) -> End {
    End::Reported(v1::EndedState { reason: reason.into(), ..v1::EndedState::default() })
}

mod hello {
    use super::*;

    #[test]
    fn hello_states_the_known_and_the_declared_in_order() {
        let mut bench = Bench::connected();
        let session = bench.session();
        let claim = bench.hold(session, 7);
        let (late, alone) = (bench.claim(session), bench.open());
        let with = Some(claim_to("other"));
        let both = bench.ask(Request::Open { session: v1::DeclaredSession::default(), with });
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
        let session = bench.open();
        bench.connect();
        let first = bench.hello();
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
        bench.ask(Request::Withdraw(dropped));
        bench.ask(Request::Withdraw(cancelled));
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
        bench.ask(Request::Withdraw(session));
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
        bench.ask(Request::Withdraw(claim));
        bench.welcome();
        bench.states([(claim, held(7))]);
        assert_eq!(bench.events(), [Event::Welcomed]);
        assert_eq!(bench.changes(), [Changed::Withdraw(claim)]);
        bench.states([(claim, ended(v1::EndReason::Released))]);
        assert_eq!(bench.ends(), [(claim, reported(v1::EndReason::Released))]);
    }

    #[test]
    fn what_was_never_sent_is_withdrawn_at_once() {
        let mut bench = Bench::new();
        let session = bench.open();
        let claim = bench.claim(session);
        bench.ask(Request::Withdraw(session));
        assert_eq!(bench.ends(), [(claim, End::Withdrawn), (session, End::Withdrawn)]);
        assert!(bench.protocol.is_empty());
        bench.connect();
        assert_eq!(bench.hello(), v1::Hello { client_id: "client".into(), epoch: 1, ..v1::Hello::default() });
    }

    #[test]
    fn ten_thousand_claims_are_stated_in_parts_and_confirmed() {
        let mut bench = Bench::connected();
        let session = bench.session();
        let label = "l".repeat(1_000);
        let declared = || {
            let metadata = [("label".to_owned(), label.clone())].into();
            Declared::Claim(v1::DeclaredClaim { names: vec!["job".into()], metadata, ..v1::DeclaredClaim::default() })
        };
        let claims: Vec<u64> =
            (0..10_000).map(|_| bench.ask(Request::Declare { session, declared: declared() })).collect();
        let sizes: Vec<usize> = bench
            .sent()
            .into_iter()
            .map(|sent| if let Sent::Changes(changes) = sent { changes.changes.len() } else { 0 })
            .collect();
        assert_eq!(sizes, [1_000; 10]);
        bench.reconnect();
        let hellos: Vec<v1::Hello> = bench
            .sent()
            .into_iter()
            .filter_map(|sent| if let Sent::Hello(part) = sent { Some(part) } else { None })
            .collect();
        assert_eq!(hellos.iter().map(|part| part.more).collect::<Vec<_>>(), [true, true, true, false]);
        assert!(hellos.iter().all(|part| part.epoch == 2 && part.client_id == "client"));
        let stated = hellos.iter().flat_map(|part| &part.declared).flat_map(|declared| &declared.claims);
        assert!(stated.map(|claim| claim.number).eq(claims.iter().copied()));
        bench.welcome();
        bench.states(claims.iter().map(|claim| (*claim, held(*claim))));
        assert_eq!(bench.events().len(), 1 + 10_000);
        bench.reconnect();
        assert_eq!(bench.hello().known.len(), 1 + 10_000);
        bench.states(claims.iter().map(|claim| (*claim, ended(v1::EndReason::Evicted))));
        assert_eq!(bench.ends().len(), 10_000);
        bench.reconnect();
        assert_eq!(bench.hello().known, [session]);
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
        assert_eq!(bench.ends(), [(claim, End::Superseded), (session, End::Superseded)]);
        let next = bench.open();
        assert!(next > claim, "numbers are never used twice");
        bench.connect();
        let hello = bench.hello();
        assert_eq!((hello.client_id.as_str(), hello.known, hello.declared[0].session), ("other", vec![], next));
    }
}

mod states {
    use super::*;

    #[test]
    fn claim_waits_and_is_held() {
        let mut bench = Bench::connected();
        let session = bench.session();
        let claim = bench.claim(session);
        let holder = Box::new(v1::Claim { token: 3, ..v1::Claim::default() });
        let waiting = state::Kind::Waiting(v1::WaitingState { holder: Some(holder.clone()) });
        let transfer = Some(v1::PendingTransfer { operator: "op".into(), ..v1::PendingTransfer::default() });
        let requested = state::Kind::Held(v1::HeldState { token: 7, transfer: transfer.clone() });
        bench.states([(claim, waiting), (claim, held(7)), (claim, requested)]);
        let expected = [
            Event::Waiting { claim, holder: Some(holder) },
            Event::Held { claim, token: 7, transfer: None },
            Event::Held { claim, token: 7, transfer },
        ];
        assert_eq!(bench.events(), expected);
    }

    #[test]
    fn session_opened_for_a_busy_lock_ends_with_it() {
        let mut bench = Bench::connected();
        let with = Some(claim_to("job"));
        let session = bench.ask(Request::Open { session: v1::DeclaredSession::default(), with });
        let [Changed::Declare(declared)] = &bench.changes()[..] else { panic!("not one declaration") };
        assert_eq!((declared.session, declared.claims[0].number), (session, session + 1));
        let busy = || state::Kind::Busy(v1::BusyState::default());
        bench.states([(session + 1, busy()), (session, busy())]);
        let busy = || End::Busy(v1::BusyState::default());
        assert_eq!(bench.ends(), [(session + 1, busy()), (session, busy())]);
        assert!(bench.protocol.is_empty());
    }

    #[test]
    fn rejected_session_ends_with_everything_in_it() {
        let mut bench = Bench::connected();
        let session = bench.open();
        let claim = bench.claim(session);
        let refusal = Box::new(v1::Refusal { reason: "INVALID_FIELD".into(), ..v1::Refusal::default() });
        bench.states([(session, state::Kind::Rejected(refusal.clone()))]);
        assert_eq!(bench.ends(), [(claim, End::Rejected(refusal.clone())), (session, End::Rejected(refusal))]);
        let late = bench.claim(session);
        assert_eq!(bench.ends(), [(late, End::NoSession)]);
    }

    #[test]
    fn states_after_a_withdrawal_are_ignored_until_the_end() {
        let mut bench = Bench::connected();
        let session = bench.session();
        let claim = bench.claim(session);
        bench.ask(Request::Withdraw(claim));
        bench.ask(Request::Withdraw(claim));
        assert_eq!(bench.changes().len(), 2, "declared, and withdrawn once");
        bench.states([(claim, held(7))]);
        assert!(bench.events().is_empty());
        bench.states([(claim, ended(v1::EndReason::Released)), (claim, held(7))]);
        assert_eq!(bench.ends(), [(claim, reported(v1::EndReason::Released))]);
    }

    #[test]
    fn withdrawn_session_ends_with_everything_in_it() {
        let mut bench = Bench::connected();
        let session = bench.session();
        let claim = bench.hold(session, 7);
        bench.ask(Request::Withdraw(session));
        bench.ask(Request::Withdraw(claim));
        assert_eq!(bench.changes(), [Changed::Withdraw(session)]);
        let late = bench.claim(session);
        assert_eq!(bench.ends(), [(late, End::NoSession)]);
        bench.states([(session, ended(v1::EndReason::Closed))]);
        let end = reported(v1::EndReason::Closed);
        assert_eq!(bench.ends(), [(claim, end.clone()), (session, end)]);
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
            assert_eq!(bench.ends(), [(claim, End::HistoryLost)]);
            assert_eq!(bench.changes(), [Changed::Withdraw(claim)]);
            bench.states([(claim, ended(v1::EndReason::Released))]);
            assert!(bench.events().is_empty());
        }
    }

    #[test]
    fn released_hold_that_the_database_lost_is_not_reported_as_released() {
        for (lost_revision, end) in [(7, reported(v1::EndReason::Unspecified)), (8, End::HistoryLost)] {
            let mut bench = Bench::connected();
            let session = bench.session();
            let claim = bench.hold(session, 7);
            bench.ask(Request::Withdraw(claim));
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
}

mod validity {
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
    fn session_is_at_risk_and_then_lost() {
        let mut bench = Bench::connected();
        let session = bench.session();
        let claim = bench.hold(session, 7);
        bench.pass(WARN_AFTER - ms(1));
        assert_eq!(bench.events().len(), 1, "the stream is to be left");
        bench.pass(ms(1));
        assert_eq!(bench.events(), [Event::AtRisk { session }]);
        bench.pass(VALID_FOR - WARN_AFTER - ms(1));
        assert!(bench.events().is_empty());
        bench.sent();
        bench.pass(ms(1));
        assert_eq!(bench.ends(), [(claim, End::Unrenewed), (session, End::Unrenewed)]);
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
        assert_eq!(bench.events(), [Event::Ended { number: session, end: End::Unrenewed }]);
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
        assert_eq!(bench.ends(), [(session, End::Unrenewed)]);
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
        assert_eq!(bench.events(), [Event::Welcomed], "the session may have ended");
        bench.pass(ms(300));
        let number = bench.keep_alive();
        bench.kept(number);
        assert!(bench.events().is_empty());
        bench.states([(session, opened())]);
        assert_eq!(bench.validity().renewed, at(10_300));
    }

    #[test]
    fn keep_alive_acknowledged_on_the_old_stream_counts() {
        let mut bench = Bench::connected();
        let session = bench.session();
        bench.pass(RENEW_AFTER);
        let number = bench.keep_alive();
        let old = bench.epoch;
        bench.pass(ms(50));
        bench.connect();
        bench.receive_from(old, kept(number));
        assert_eq!(bench.validity().renewed, at(10_400));
        bench.welcome();
        bench.events();
        bench.states([(session, opened())]);
        assert_eq!(bench.validity().renewed, at(10_450));
        bench.receive_from(old, kept(number));
        assert!(bench.events().is_empty());
    }

    #[test]
    fn paused_session_ages_and_resumed_one_is_renewed() {
        let mut bench = Bench::connected();
        let session = bench.session();
        bench.pass(RENEW_AFTER);
        let before = bench.keep_alive();
        bench.ask(Request::Pause(session));
        bench.ask(Request::Pause(session));
        assert_eq!(bench.changes(), [Changed::Pause(session)]);
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
            matches!(events[..], [Event::Open { validity, .. }, ..] if validity.renewed == at(10_400)),
            "{events:?}"
        );
        bench.pass(ms(100));
        bench.ask(Request::Resume(session));
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
        bench.ask(Request::Pause(session));
        bench.pass(VALID_FOR);
        assert_eq!(bench.ends(), [(session, End::Paused)]);
    }

    #[test]
    fn session_paused_before_its_state_is_paused_on_the_next_stream() {
        let mut bench = Bench::new();
        let session = bench.open();
        bench.ask(Request::Pause(session));
        bench.connect();
        let sent = bench.sent();
        let [Sent::Hello(hello), Sent::Changes(changes)] = &sent[..] else { panic!("{sent:?}") };
        assert_eq!((hello.declared.len(), hello.paused.len()), (1, 0));
        assert_eq!(changes.changes[0].kind, Some(Changed::Pause(session)));
    }
}

mod leaving {
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
}

/// A server that ends a session as early as it may: its clock runs as fast as clocks may.
#[derive(Debug)]
struct Session {
    number: u64,
    ttl: Duration,
    renewed: Moment,
    is_paused: bool,
}

impl Session {
    fn is_over(&self, now: Moment) -> bool {
        now >= self.renewed.after(self.ttl.mul_f64(1.0 / 1.01))
    }
}

/// What happens next in the world between client and server.
#[derive(Clone, Debug)]
enum Step {
    Pass(u64),
    Deliver,
    Reply,
    Break,
    Pause(bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0_u64..400).prop_map(Step::Pass),
        6 => Just(Step::Deliver),
        6 => Just(Step::Reply),
        1 => Just(Step::Break),
        1 => any::<bool>().prop_map(Step::Pause),
    ];
    prop::collection::vec(step, 1..200)
}

proptest! {
    /// Whatever arrives when, what is called valid has not ended at the server.
    #[test]
    fn session_is_never_valid_after_the_server_may_have_ended_it(steps in steps()) {
        let ttl = ms(1_200);
        let mut bench = Bench::new();
        let number = bench.open();
        bench.connect();
        let mut server: Option<Session> = None;
        let (mut to_server, mut to_client) = (Vec::new(), std::collections::VecDeque::new());
        let mut valid_until = None;
        for step in steps {
            match step {
                Step::Pass(time) => bench.pass(ms(time)),
                Step::Pause(pause) => {
                    bench.ask(if pause { Request::Pause(number) } else { Request::Resume(number) });
                }
                Step::Break => {
                    (to_server, to_client) = Default::default();
                    bench.reconnect();
                }
                Step::Deliver => {
                    if server.as_ref().is_some_and(|session| session.is_over(bench.now)) {
                        server = None;
                    }
                    let now = bench.now;
                    for sent in to_server.drain(..) {
                        match sent {
                            Sent::Hello(hello) => {
                                if hello.declared.first().is_some_and(|declared| declared.open.is_some()) && server.is_none() {
                                    server = Some(Session { number, ttl, renewed: now, is_paused: false });
                                }
                                to_client.push_back(Received::Welcome(v1::Welcome::default()));
                                if let Some(session) = &mut server {
                                    session.is_paused = hello.paused.contains(&number);
                                    if !session.is_paused {
                                        session.renewed = now;
                                    }
                                }
                                let kind = server.as_ref().map_or(ended(v1::EndReason::Expired), |_| opened());
                                let states = vec![v1::State { number, kind: Some(kind) }];
                                to_client.push_back(Received::States(v1::States { states }));
                            }
                            Sent::KeepAlive(keep_alive) => {
                                if let Some(session) = server.as_mut().filter(|session| !session.is_paused) {
                                    session.renewed = now;
                                }
                                to_client.push_back(kept(keep_alive.number));
                            }
                            Sent::Changes(changes) => {
                                for change in changes.changes.into_iter().filter_map(|change| change.kind) {
                                    match (change, &mut server) {
                                        (Changed::Pause(_), Some(session)) => session.is_paused = true,
                                        (Changed::Resume(_), Some(session)) => {
                                            (session.is_paused, session.renewed) = (false, now);
                                        }
                                        (Changed::Withdraw(_), _) => server = None,
                                        _ => {}
                                    }
                                }
                            }
                        }
                    }
                }
                Step::Reply => {
                    if let Some(received) = to_client.pop_front() {
                        bench.receive(received);
                    }
                }
            }
            to_server.extend(bench.sent());
            for event in bench.events() {
                match event {
                    Event::Open { validity, .. } | Event::Renewed { validity, .. } => {
                        prop_assert!(valid_until.is_none_or(|until| bench.now < until), "revived after {:?}", valid_until);
                        valid_until = Some(validity.until());
                    }
                    Event::Ended { .. } => return Ok(()),
                    _ => {}
                }
            }
            if valid_until.is_some_and(|until| bench.now < until) {
                let session = server.as_ref().filter(|session| !session.is_over(bench.now));
                prop_assert!(session.is_some_and(|session| session.number == number), "{server:?} at {:?}", bench.now);
            }
        }
    }
}
