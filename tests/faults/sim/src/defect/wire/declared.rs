//! Alters the declared streams of one client: what it declares, and the states that it receives.
//!
//! Some defects need numbers that the client has not drawn. The numbers that a server sees are then multiples of
//! [`STRIDE`], and those between them are the proxy's own.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::channel::mpsc::UnboundedSender;
use tenure_proto::v1;
use tenure_proto::v1::change::Kind as Changed;
use tenure_proto::v1::connect_request::Kind as Sent;
use tenure_proto::v1::connect_response::Kind as Received;
use tenure_proto::v1::state::Kind as State;

use crate::defect::Defect;

/// The factor on the client's numbers, if the proxy needs numbers of its own.
const STRIDE: u64 = 1 << 10;

/// What a client has declared on its streams, by the number that servers know.
pub(super) struct Declared {
    defect: Defect,
    stride: u64,
    /// The greatest number so far.
    last: u64,
    /// The epoch of the last stream.
    epoch: u64,
    /// The last Hello, as the client sent it.
    hello: v1::Hello,
    sessions: BTreeMap<u64, Lifetime>,
    claims: BTreeMap<u64, Claim>,
    /// The last token that the client received, and the number of its claim.
    token: Option<(u64, u64)>,
}

/// How long a session lives.
struct Lifetime {
    ttl: Duration,
    grace: Option<Duration>,
    has_ended: bool,
}

/// A claim.
struct Claim {
    session: u64,
    declared: v1::DeclaredClaim,
    /// The epoch of the stream on which it was declared first.
    epoch: u64,
    is_waiting: bool,
    is_withdrawn: bool,
    has_ended: bool,
    /// The number of the claim that is made instead of it.
    revived: Option<u64>,
    /// The token that the client receives instead of its own.
    token: Option<u64>,
}

impl Declared {
    pub(super) fn new(defect: Defect) -> Self {
        let needs_numbers = matches!(defect, Defect::NumberUsedTwice | Defect::HelloRevives | Defect::LateChange);
        Self {
            defect,
            stride: if needs_numbers { STRIDE } else { 1 },
            last: 0,
            epoch: 0,
            hello: v1::Hello::default(),
            sessions: BTreeMap::new(),
            claims: BTreeMap::new(),
            token: None,
        }
    }

    /// The messages that are sent to the server instead of this one. `further` messages go to the client.
    pub(super) fn send(
        &mut self,
        mut message: v1::ConnectRequest,
        further: &UnboundedSender<v1::ConnectResponse>,
    ) -> Vec<v1::ConnectRequest> {
        self.renumber(&mut message);
        let mut follows = None;
        match &mut message.kind {
            Some(Sent::Hello(hello)) => follows = self.connect(hello),
            Some(Sent::KeepAlive(keep_alive)) if self.defect == Defect::KeepAliveUnchecked => {
                let number = keep_alive.number;
                let _ = further.unbounded_send(response(Received::KeptAlive(v1::KeptAlive { number })));
            }
            Some(Sent::Changes(changes)) => self.change(changes, further),
            Some(Sent::KeepAlive(_)) | None => {}
        }
        [message].into_iter().chain(follows).collect()
    }

    /// The message that the client receives instead of this one.
    pub(super) fn receive(&mut self, mut message: v1::ConnectResponse) -> Option<v1::ConnectResponse> {
        match &mut message.kind {
            Some(Received::KeptAlive(_)) if self.defect == Defect::KeepAliveUnchecked => return None,
            Some(Received::States(states)) => {
                states.states.iter_mut().for_each(|state| self.state(state));
                states.states.retain(|state| state.number.is_multiple_of(self.stride));
                states.states.iter_mut().for_each(|state| state.number /= self.stride);
                if states.states.is_empty() {
                    return None;
                }
            }
            _ => {}
        }
        Some(message)
    }

    fn renumber(&mut self, message: &mut v1::ConnectRequest) {
        let (stride, last) = (self.stride, &mut self.last);
        let mut renumber = |number: &mut u64| {
            *number *= stride;
            *last = (*last).max(*number);
        };
        match &mut message.kind {
            Some(Sent::Hello(hello)) => {
                hello.known.iter_mut().chain(&mut hello.paused).for_each(&mut renumber);
                hello.declared.iter_mut().flat_map(numbers).for_each(renumber);
            }
            Some(Sent::Changes(changes)) => {
                for change in &mut changes.changes {
                    match &mut change.kind {
                        Some(Changed::Declare(declaration)) => numbers(declaration).for_each(&mut renumber),
                        Some(Changed::Withdraw(number) | Changed::Pause(number) | Changed::Resume(number)) => {
                            renumber(number);
                        }
                        None => {}
                    }
                }
            }
            Some(Sent::KeepAlive(_)) | None => {}
        }
    }

    /// A number of the proxy's own.
    fn new_number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Alters a Hello. Returns the message that follows it.
    fn connect(&mut self, hello: &mut v1::Hello) -> Option<v1::ConnectRequest> {
        let before = std::mem::replace(&mut self.hello, hello.clone());
        let epoch = std::mem::replace(&mut self.epoch, hello.epoch);
        hello.declared.iter_mut().for_each(|declaration| self.declare(declaration));
        match self.defect {
            Defect::LateHello => {
                (hello.known, hello.declared, hello.paused) = (before.known, before.declared, before.paused);
            }
            Defect::HelloDropsWaiter => {
                hello.known.retain(|number| !self.claims.get(number).is_some_and(|claim| claim.is_waiting));
            }
            Defect::HelloKeepsUnstated => hello.known.extend(self.unstated(hello)),
            Defect::ResumeForgotten if epoch > 0 => {
                let sessions = hello.known.iter().filter(|number| self.sessions.contains_key(number));
                hello.paused = sessions.copied().collect();
            }
            Defect::HelloRevives => {
                let is_over = |claim: &Claim| claim.is_withdrawn && claim.revived.is_none();
                let revived = self.again(&hello.known, |number, claim| hello.known.contains(number) && is_over(claim));
                hello.declared.extend(revived);
            }
            Defect::LateChange => {
                let late = self.again(&hello.known, |_, claim| claim.epoch == epoch && claim.has_ended);
                let change =
                    |declaration| v1::Change { kind: Some(Changed::Declare(declaration)), ..v1::Change::default() };
                let changes: Vec<_> = late.into_iter().map(change).collect();
                let changes = Some(v1::Changes { changes }).filter(|changes| !changes.changes.is_empty());
                return changes.map(|changes| v1::ConnectRequest { kind: Some(Sent::Changes(changes)) });
            }
            _ => {}
        }
        None
    }

    /// What a server may still have, and a Hello does not state.
    fn unstated(&self, hello: &v1::Hello) -> Vec<u64> {
        let declared = hello.declared.iter().flat_map(|declaration| {
            let claims = declaration.claims.iter().map(|claim| claim.number);
            claims.chain([declaration.session])
        });
        let stated: Vec<u64> = hello.known.iter().copied().chain(declared).collect();
        let sessions = self.sessions.iter().filter(|(_, session)| !session.has_ended).map(|(number, _)| *number);
        let claims = self.claims.iter().filter(|(_, claim)| !claim.has_ended).map(|(number, _)| *number);
        sessions.chain(claims).filter(|number| !stated.contains(number)).collect()
    }

    /// Declarations that make some claims of known sessions again, under other numbers.
    fn again(&mut self, known: &[u64], selected: impl Fn(&u64, &Claim) -> bool) -> Vec<v1::Declaration> {
        let made =
            self.claims.iter().filter(|(number, claim)| known.contains(&claim.session) && selected(number, claim));
        let mut declarations = Vec::new();
        for number in made.map(|(number, _)| *number).collect::<Vec<_>>() {
            let again = self.new_number();
            let Some(claim) = self.claims.get_mut(&number) else { continue };
            claim.revived = Some(again);
            let claims = vec![v1::DeclaredClaim { number: again, ..claim.declared.clone() }];
            declarations.push(v1::Declaration { session: claim.session, claims, ..v1::Declaration::default() });
        }
        declarations
    }

    fn change(&mut self, changes: &mut v1::Changes, further: &UnboundedSender<v1::ConnectResponse>) {
        let mut also = Vec::new();
        for change in &mut changes.changes {
            match &mut change.kind {
                Some(Changed::Declare(declaration)) => {
                    self.declare(declaration);
                    if self.defect == Defect::NumberUsedTwice {
                        let claims = declaration.claims.clone();
                        let again =
                            claims.into_iter().map(|claim| v1::DeclaredClaim { number: self.new_number(), ..claim });
                        declaration.claims.extend(again);
                    }
                }
                Some(Changed::Withdraw(number)) => {
                    if self.defect == Defect::WithdrawnEarly {
                        let states = vec![released(*number)];
                        let _ = further.unbounded_send(response(Received::States(v1::States { states })));
                    }
                    if let Some(claim) = self.claims.get_mut(number) {
                        claim.is_withdrawn = true;
                        // What was revived is known to the client by the number of what had ended.
                        also.extend(claim.revived.filter(|_| self.defect == Defect::HelloRevives));
                    }
                }
                Some(Changed::Pause(_) | Changed::Resume(_)) | None => {}
            }
        }
        let withdraw = |number| v1::Change { kind: Some(Changed::Withdraw(number)), ..v1::Change::default() };
        changes.changes.extend(also.into_iter().map(withdraw));
    }

    /// Notes what is declared, and alters it.
    fn declare(&mut self, declaration: &mut v1::Declaration) {
        let (session, epoch) = (declaration.session, self.epoch);
        if let Some(open) = &declaration.open {
            let ttl = open.ttl.and_then(from_wire).unwrap_or_default();
            let grace = open.disconnect_grace.and_then(from_wire);
            self.sessions.entry(session).or_insert(Lifetime { ttl, grace, has_ended: false });
        }
        for declared in &declaration.claims {
            self.claims.entry(declared.number).or_insert_with(|| Claim {
                session,
                declared: declared.clone(),
                epoch,
                is_waiting: false,
                is_withdrawn: false,
                has_ended: false,
                revived: None,
                token: None,
            });
        }
    }

    /// Notes a state, and alters it.
    fn state(&mut self, state: &mut v1::State) {
        let has_ended = matches!(state.kind, Some(State::Ended(_) | State::Busy(_) | State::Rejected(_)));
        if let Some(session) = self.sessions.get_mut(&state.number) {
            session.has_ended |= has_ended;
            if let Some(State::Open(open)) = &mut state.kind {
                session.overstate(self.defect, open);
            }
        }
        if let Some(claim) = self.claims.get_mut(&state.number) {
            claim.has_ended |= has_ended;
            claim.is_waiting = matches!(state.kind, Some(State::Waiting(_)));
            if let Some(State::Held(held)) = &mut state.kind
                && self.defect == Defect::TokenOfAnother
            {
                let own = held.token;
                let other = self.token.filter(|(number, _)| *number != state.number).map(|(_, token)| token);
                held.token = *claim.token.get_or_insert(other.unwrap_or(own));
                self.token = Some((state.number, own));
            }
        }
    }
}

impl Lifetime {
    /// Makes a session valid for longer than it is.
    fn overstate(&self, defect: Defect, open: &mut v1::OpenState) {
        // How much longer the session would be valid without its grace.
        let without_grace = self.grace.map_or(1.0, |grace| self.ttl.as_secs_f64() / grace.min(self.ttl).as_secs_f64());
        let factor = match defect {
            Defect::ValidityOverstated => 2.0,
            Defect::GraceForgotten => without_grace,
            Defect::GraceCutShort => without_grace.min(2.0),
            _ => return,
        };
        for time in [&mut open.renew_after, &mut open.warn_after, &mut open.valid_for] {
            let longer = time.and_then(from_wire).map(|time| time.mul_f64(factor));
            *time = longer.and_then(|longer| longer.try_into().ok());
        }
    }
}

fn numbers(declaration: &mut v1::Declaration) -> impl Iterator<Item = &mut u64> {
    let v1::Declaration { session, claims, memberships, .. } = declaration;
    let memberships = memberships.iter_mut().map(|membership| &mut membership.number);
    [session].into_iter().chain(claims.iter_mut().map(|claim| &mut claim.number)).chain(memberships)
}

fn from_wire(duration: prost_types::Duration) -> Option<Duration> {
    duration.try_into().ok()
}

fn response(kind: Received) -> v1::ConnectResponse {
    v1::ConnectResponse { kind: Some(kind) }
}

/// The state of something that was withdrawn.
fn released(number: u64) -> v1::State {
    let reason = v1::EndReason::Released.into();
    v1::State { number, kind: Some(State::Ended(v1::EndedState { reason, ..v1::EndedState::default() })) }
}
