//! The protocol against a scripted server: the tests pass the time, and decide what arrives.

mod hello;
mod leaving;
mod states;
mod validity;

use std::time::Duration;

use proptest::prelude::*;
use prost::Message;
use tenure_proto::v1;
use tenure_proto::v1::change::Kind as Changed;
use tenure_proto::v1::connect_request::Kind as Sent;
use tenure_proto::v1::connect_response::Kind as Received;
use tenure_proto::v1::state;

use super::{End, Event, Protocol, Status, Validity};
use crate::clock::Moment;
use crate::convert::to_wire;
use crate::error::LostReason;

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

    fn ask(&mut self, change: Changed) -> u64 {
        self.protocol.handle_request(v1::Change { kind: Some(change), ..v1::Change::default() }, self.now)
    }

    fn open(&mut self) -> u64 {
        self.ask(Changed::Declare(opening(vec![])))
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
        let claims = vec![claim_to("job")];
        self.ask(Changed::Declare(v1::Declaration { session, claims, ..v1::Declaration::default() }))
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

    /// All events but those of what was withdrawn.
    fn events(&mut self) -> Vec<Event> {
        let events = std::iter::from_fn(|| self.protocol.poll_event());
        events.filter(|event| !matches!(event, Event::Changed { status: Status::Withdrawn, .. })).collect()
    }

    /// The validity in the only event.
    fn validity(&mut self) -> Validity {
        match self.events()[..] {
            [Event::Changed { status: Status::Open(validity), .. }] => validity,
            ref other => panic!("no validity but {other:?}"),
        }
    }

    fn ends(&mut self) -> Vec<(u64, End)> {
        let ended = |event| match event {
            Event::Changed { number, status: Status::Ended(end) } => Some((number, end)),
            _ => None,
        };
        self.events().into_iter().filter_map(ended).collect()
    }
}

fn claim_to(name: &str) -> v1::DeclaredClaim {
    v1::DeclaredClaim { names: vec![name.into()], ..v1::DeclaredClaim::default() }
}

fn opening(claims: Vec<v1::DeclaredClaim>) -> v1::Declaration {
    v1::Declaration { open: Some(v1::DeclaredSession::default()), claims, ..v1::Declaration::default() }
}

fn changed(number: u64, status: Status) -> Event {
    Event::Changed { number, status }
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
    End::Lost(LostReason::Ended(v1::EndedState { reason: reason.into(), ..v1::EndedState::default() }))
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
                    bench.ask(if pause { Changed::Pause(number) } else { Changed::Resume(number) });
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
                    Event::Changed { status: Status::Open(validity), .. } => {
                        prop_assert!(valid_until.is_none_or(|until| bench.now < until), "revived after {:?}", valid_until);
                        valid_until = Some(validity.until());
                    }
                    Event::Changed { status: Status::Ended(_), .. } => return Ok(()),
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
