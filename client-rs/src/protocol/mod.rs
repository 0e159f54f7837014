//! The state that a client declares to the service: its sessions, claims and memberships, by number. No I/O, no clock
//! and no randomness: the transport passes in the time and the received messages, and takes out messages and events.
//!
//! Every stream begins with a Hello that states everything, so a lost message, a lost stream and a first connection are
//! one code path: what the server has not confirmed is stated again, and what is not stated ends there. A number is
//! declared once, and its item remains in the table until the server has reported its end.
//!
//! Relies on the order of messages within a stream, in both directions.

mod item;
mod keep_alive;
mod message;
mod stream;
#[cfg(test)]
mod tests;
mod validity;

use std::collections::{BTreeMap, VecDeque};

use tenure_proto::v1;
use tenure_proto::v1::change::Kind as Changed;
use tenure_proto::v1::connect_response::Kind as Received;
use tenure_proto::v1::state;

use self::item::{Item, Part, Session};
use self::keep_alive::KeepAlives;
use self::message::Outgoing;
use self::stream::Stream;
pub(crate) use self::validity::Validity;
use crate::clock::Moment;

/// The namespace that an empty one stands for.
const DEFAULT_NAMESPACE: &str = "default";

/// What to change in the table.
#[derive(Debug)]
pub(crate) enum Request {
    /// Opens a session, with a claim or a membership in it.
    Open { session: v1::DeclaredSession, with: Option<Declared> },
    /// Makes a claim or a membership in a session.
    Declare { session: u64, declared: Declared },
    /// Ends what has this number.
    Withdraw(u64),
    /// Keep-alives no longer renew this session.
    Pause(u64),
    /// Keep-alives renew this session again.
    Resume(u64),
}

/// A claim or a membership. Its number is set by the protocol.
#[derive(Clone, Debug)]
pub(crate) enum Declared {
    Claim(v1::DeclaredClaim),
    Membership(v1::DeclaredMembership),
}

/// What has changed.
#[derive(Debug, PartialEq)]
pub(crate) enum Event {
    /// The session is open: when it was opened, and on each later stream.
    Open { session: u64, validity: Validity },
    /// The session was renewed.
    Renewed { session: u64, validity: Validity },
    /// The session is at risk.
    AtRisk { session: u64 },
    /// The claim is in the queue.
    Waiting { claim: u64, holder: Option<Box<v1::Claim>> },
    /// The claim holds its locks; its holder may be asked to transfer them.
    Held { claim: u64, token: u64, transfer: Option<v1::PendingTransfer> },
    /// The membership exists.
    Joined { membership: u64, member: u64 },
    /// The last event of this number.
    Ended { number: u64, end: End },
    /// The stream has confirmed the Hello: earlier streams are of no further use.
    Welcomed,
    /// Connect to another server, and use this stream until then. At most once per stream.
    Leave,
}

/// Why something has ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum End {
    /// The server reported its end.
    Reported(v1::EndedState),
    /// The locks are not free.
    Busy(v1::BusyState),
    /// The server rejected it.
    Rejected(Box<v1::Refusal>),
    /// This client withdrew it, and the server has confirmed that, or never received it.
    Withdrawn,
    /// Its session was not open when it was declared.
    NoSession,
    /// No keep-alive was acknowledged in time.
    Unrenewed,
    /// No keep-alive was acknowledged in time, and the session was paused.
    Paused,
    /// The database has lost the history in which the claim was granted: others may have held its locks since.
    HistoryLost,
    /// Another program uses the client's id.
    Superseded,
}

/// The table, and the current stream.
#[derive(Debug)]
pub(crate) struct Protocol {
    namespace: String,
    client_id: String,
    epoch: u64,
    last_number: u64,
    items: BTreeMap<u64, Item>,
    stream: Option<Stream>,
    /// The token of a hold from before the last loss of history is less than this one.
    lost_revision: u64,
    keep_alives: KeepAlives,
    /// No later than the next change of any session's phase.
    next_phase: Option<Moment>,
    events: VecDeque<Event>,
    /// The trace of the request that is being handled, in the format of the header of this name; empty for none.
    traceparent: String,
}

impl Protocol {
    /// A client without anything. The id is random, and used by this program only.
    pub(crate) fn new(namespace: String, client_id: String) -> Self {
        Self {
            namespace: if namespace == DEFAULT_NAMESPACE { String::new() } else { namespace },
            client_id,
            epoch: 0,
            last_number: 0,
            items: BTreeMap::new(),
            stream: None,
            lost_revision: 0,
            keep_alives: KeepAlives::default(),
            next_phase: None,
            events: VecDeque::new(),
            traceparent: String::new(),
        }
    }

    /// Makes a change, which is part of this trace. Returns the number of what it declares; what is declared with a
    /// session has the next one.
    pub(crate) fn handle_request(&mut self, request: Request, traceparent: String, now: Moment) -> u64 {
        self.traceparent = traceparent;
        let number = self.request(request, now);
        self.traceparent.clear();
        number
    }

    fn request(&mut self, request: Request, now: Moment) -> u64 {
        match request {
            Request::Open { session, with } => {
                let number = self.last_number + 1;
                self.add(Item::new(number, number, Part::Session(session), now));
                if let Some(declared) = with {
                    self.add(Item::new(number, number, Part::from(declared), now));
                }
                self.send_declared(number, now);
                number
            }
            Request::Declare { session, declared } => {
                let number = self.last_number + 1;
                let is_open = self.items.get(&session).is_some_and(|item| item.withdrawn.is_none());
                if is_open {
                    self.add(Item::new(session, number, Part::from(declared), now));
                    self.send_declared(number, now);
                } else {
                    self.last_number = number;
                    self.events.push_back(Event::Ended { number, end: End::NoSession });
                }
                number
            }
            Request::Withdraw(number) => {
                self.withdraw(number, now);
                number
            }
            Request::Pause(number) => {
                let next = self.keep_alives.next_number();
                if let Some(session) = self.session_mut(number).filter(|session| session.paused.is_none()) {
                    session.paused = Some(next);
                    self.send_change(Changed::Pause(number), now);
                }
                number
            }
            Request::Resume(number) => {
                let next = self.keep_alives.next_number();
                if let Some(session) = self.session_mut(number).filter(|session| session.paused.is_some()) {
                    (session.renewed_from, session.paused) = (next, None);
                    self.send_change(Changed::Resume(number), now);
                    // Its acknowledgement is that of the change, too.
                    self.send_keep_alive(now);
                    self.plan_keep_alive(now);
                }
                number
            }
        }
    }

    /// Processes a message from the stream of this epoch.
    pub(crate) fn handle_response(&mut self, epoch: u64, response: v1::ConnectResponse, now: Moment) {
        // First, because a session that was valid too long ago stays lost, whatever has arrived.
        self.check_phases(now);
        let is_current = self.stream.as_ref().is_some_and(|stream| stream.epoch == epoch);
        match response.kind {
            Some(Received::KeptAlive(kept)) => self.kept_alive(epoch, kept.number),
            // The Hello of a later stream was sent: that stream reports everything again.
            _ if !is_current => {}
            Some(Received::Welcome(welcome)) => self.welcomed(&welcome),
            Some(Received::States(states)) => {
                self.stream.iter_mut().for_each(|stream| stream.asked = None);
                for state in states.states {
                    self.state(state, now);
                }
            }
            Some(Received::GoingAway(_)) => self.leave(),
            None => {}
        }
    }

    /// The next event.
    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Whether everything has ended.
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    fn add(&mut self, item: Item) {
        self.last_number += 1;
        let number = self.last_number;
        if let Some(session) = self.session_mut(item.session_number) {
            session.parts.insert(number);
        }
        self.items.insert(number, item);
    }

    fn session_mut(&mut self, number: u64) -> Option<&mut Session> {
        self.items.get_mut(&number)?.session.as_mut()
    }

    fn withdraw(&mut self, number: u64, now: Moment) {
        let Some(item) = self.items.get(&number).filter(|item| item.withdrawn.is_none()) else { return };
        if !item.was_sent {
            self.end(number, &End::Withdrawn);
            return;
        }
        let parts = item.session.as_ref().map(|session| session.parts.clone()).unwrap_or_default();
        for number in parts.into_iter().chain([number]) {
            if let Some(item) = self.items.get_mut(&number)
                && item.withdrawn.is_none()
            {
                item.withdrawn = Some(self.epoch);
            }
        }
        self.send_change(Changed::Withdraw(number), now);
    }

    /// Processes the state of one number. What is withdrawn has only an end; what is not in the table, nothing.
    fn state(&mut self, state: v1::State, now: Moment) {
        let (number, epoch) = (state.number, self.epoch);
        let Some(item) = self.items.get_mut(&number) else { return };
        if item.withdrawn.is_none() {
            item.declared = None;
        }
        let held = item.token;
        match state.kind {
            Some(state::Kind::Held(v1::HeldState { token, .. })) if held.is_some_and(|held| held != token) => {
                self.lose(number, now);
            }
            Some(state::Kind::Waiting(_)) if held.is_some() => self.lose(number, now),
            Some(state::Kind::Ended(ended)) => self.end(number, &End::Reported(ended)),
            Some(state::Kind::Busy(busy)) => self.end(number, &End::Busy(busy)),
            Some(state::Kind::Rejected(refusal)) => {
                self.leave_if_rejected(&refusal);
                self.end(number, &End::Rejected(refusal));
            }
            _ if item.withdrawn.is_some() => {}
            Some(state::Kind::Open(open)) => self.opened(number, &open, epoch, now),
            Some(state::Kind::Waiting(waiting)) => {
                self.events.push_back(Event::Waiting { claim: number, holder: waiting.holder });
            }
            Some(state::Kind::Held(held)) => {
                let v1::HeldState { token, transfer } = held;
                item.token = Some(token);
                self.events.push_back(Event::Held { claim: number, token, transfer });
            }
            Some(state::Kind::Joined(joined)) => {
                self.events.push_back(Event::Joined { membership: number, member: joined.member });
            }
            None => {}
        }
    }

    /// Reports the end of a hold that the database has lost.
    fn lose(&mut self, number: u64, now: Moment) {
        let Some(item) = self.items.get_mut(&number) else { return };
        if !std::mem::replace(&mut item.is_reported, true) {
            self.events.push_back(Event::Ended { number, end: End::HistoryLost });
        }
        self.withdraw(number, now);
    }

    /// Ends what has this number, with everything in it.
    fn end(&mut self, number: u64, end: &End) {
        let Some(item) = self.items.remove(&number) else { return };
        for part in item.session.into_iter().flat_map(|session| session.parts) {
            self.end(part, end);
        }
        if let Some(session) = self.session_mut(item.session_number) {
            session.parts.remove(&number);
        }
        if !item.is_reported {
            let may_be_lost = item.token.is_some_and(|token| token < self.lost_revision);
            let is_unexplained = matches!(end, End::Reported(ended) if ended.reason == 0);
            let end = if may_be_lost && is_unexplained { End::HistoryLost } else { end.clone() };
            self.events.push_back(Event::Ended { number, end });
        }
    }
}
