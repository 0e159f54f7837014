//! The state that a client declares to the service: its sessions, claims and memberships, by number. No I/O, no clock
//! and no randomness: the transport passes in the time and the received messages, and takes out messages and events.
//!
//! Every stream begins with a Hello that states everything, so a lost message, a lost stream and a first connection are
//! one code path: what the server has not confirmed is stated again, and what is not stated ends there. A number is
//! declared once, and its item remains in the table until the server has reported its end.
//!
//! Relies on the order of messages within a stream.

mod keep_alive;
mod stream;
#[cfg(test)]
mod tests;
mod validity;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tenure_proto::v1;
use tenure_proto::v1::change::Kind as Changed;
use tenure_proto::v1::connect_response::Kind as Received;
use tenure_proto::v1::state;

use self::keep_alive::KeepAlives;
use self::stream::Stream;
pub(crate) use self::validity::Validity;
use crate::clock::Moment;
use crate::error::LostReason;

/// What has changed.
#[derive(Debug, PartialEq)]
pub(crate) enum Event {
    /// What this number stands for. `Ended` is its last status.
    Changed { number: u64, status: Status },
    /// Connect to another server, and use this stream until then. At most once per stream.
    Leave,
}

/// The latest that is known of a session, claim or membership.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Status {
    /// No server has reported it yet.
    Declared,
    /// The session is open: when it was opened, on each later stream, and whenever its validity changes.
    Open(Validity),
    /// The claim is in the queue.
    Waiting(v1::BusyState),
    /// The claim holds its locks. Its holder may be asked to transfer them: since when.
    Held { token: u64, transfer: Option<(v1::PendingTransfer, Moment)> },
    /// The membership exists, under this number of the group.
    Joined(u64),
    /// This client has withdrawn it, and the server has yet to confirm that.
    Withdrawn,
    /// It has ended.
    Ended(End),
}

/// Why something has ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum End {
    /// This client withdrew it, and the server has confirmed that, or never received it.
    Withdrawn,
    /// The locks are not free.
    Busy(v1::BusyState),
    /// The server rejected it.
    Rejected(Box<v1::Refusal>),
    /// For any other reason.
    Lost(LostReason),
}

/// One session, claim or membership, from its declaration to its end.
#[derive(Debug)]
struct Item {
    /// The first number of its declaration.
    declaration: u64,
    /// The trace of its declaration, until that is sent, if this is the first of it.
    traceparent: String,
    /// The number of its session: its own, if it is one.
    session_number: u64,
    /// Its declaration, without what was declared with it, until its state is received. Then it is known to exist.
    declared: Option<v1::Declaration>,
    /// When the last message that declares it was queued. `None`: no server knows it.
    sent: Option<Moment>,
    /// The epoch in which it was withdrawn.
    withdrawn: Option<u64>,
    /// The fencing token of a held claim.
    token: Option<u64>,
    session: Option<Session>,
}

/// What only a session has.
#[derive(Debug, Default)]
struct Session {
    /// The numbers of its claims and memberships.
    parts: BTreeSet<u64>,
    /// Keep-alives from this one on renew it.
    renewed_from: u64,
    /// Keep-alives from this one on do not renew it.
    paused: Option<u64>,
    /// Once it is open.
    validity: Option<Validity>,
    /// The epoch of the last stream that reported it as open.
    epoch: u64,
}

/// The table, and the current stream.
#[derive(Debug, Default)]
pub(crate) struct Protocol {
    namespace: String,
    client_id: String,
    epoch: u64,
    last_number: u64,
    /// Each is boxed: many numbers come and go.
    items: BTreeMap<u64, Box<Item>>,
    /// What has a greater number has yet to be sent.
    last_sent: u64,
    /// The bytes of the declarations that were sent, and that no server has confirmed.
    unconfirmed: usize,
    stream: Option<Stream>,
    /// The token of a hold from before the last loss of history is less than this one.
    lost_revision: u64,
    keep_alives: KeepAlives,
    /// No later than the end of any session's validity.
    next_expiry: Option<Moment>,
    events: VecDeque<Event>,
}

impl Protocol {
    /// A client without anything. The id is random, and used by this program only.
    pub(crate) fn new(namespace: String, client_id: String) -> Self {
        Self { namespace, client_id, ..Self::default() }
    }

    /// Makes a change; the numbers in a declaration are set here, except for that of a session which is declared
    /// already. Returns the first number that it declares, of which each further one is the next; 0 if it declares nothing.
    pub(crate) fn handle_request(&mut self, v1::Change { kind, traceparent }: v1::Change, now: Moment) -> u64 {
        match kind {
            Some(Changed::Declare(declaration)) => return self.declare(declaration, traceparent, now),
            Some(Changed::Withdraw(number)) => self.withdraw(number, traceparent, now),
            Some(Changed::Pause(number)) => self.pause(number, now),
            Some(Changed::Resume(number)) => self.resume(number, now),
            None => {}
        }
        0
    }

    /// Processes a message from the stream of this epoch.
    pub(crate) fn handle_response(&mut self, epoch: u64, response: v1::ConnectResponse, now: Moment) {
        // First, because a session that was valid too long ago stays lost, whatever has arrived.
        self.expire(now);
        let Some(stream) = self.stream.as_mut().filter(|stream| stream.epoch == epoch) else { return };
        match response.kind {
            Some(Received::KeptAlive(kept)) => self.kept_alive(kept.number),
            Some(Received::Welcome(welcome)) => self.welcomed(&welcome),
            Some(Received::States(states)) => {
                stream.asked = None;
                for state in states.states {
                    state.kind.into_iter().for_each(|kind| self.state(state.number, kind, now));
                }
                self.send_unsent(now);
            }
            Some(Received::GoingAway(_)) => self.leave(),
            None => {}
        }
    }

    /// The credentials are rejected by every server: what no server has confirmed ends.
    pub(crate) fn handle_rejected(&mut self, refusal: &v1::Refusal, now: Moment) {
        let declared = self.items.iter().filter(|(_, item)| item.declared.is_some()).map(|(number, _)| *number);
        for number in declared.collect::<Vec<_>>() {
            self.abandon(number, End::Rejected(refusal.clone().into()), now);
        }
    }

    /// The next event.
    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The numbers of all sessions.
    pub(crate) fn sessions(&self) -> Vec<u64> {
        self.items.iter().filter(|(_, item)| item.session.is_some()).map(|(number, _)| *number).collect()
    }

    /// Declares a session with what is in it, or what is new in a session.
    fn declare(&mut self, declaration: v1::Declaration, traceparent: String, now: Moment) -> u64 {
        let first = self.last_number + 1;
        let opens = declaration.open.is_some();
        let session = if opens { first } else { declaration.session };
        let is_open = opens || self.items.get(&session).is_some_and(|item| item.withdrawn.is_none());
        let empty = v1::Declaration { session, ..v1::Declaration::default() };
        if opens {
            self.add(first, v1::Declaration { open: declaration.open, ..empty.clone() });
        }
        for mut claim in declaration.claims {
            claim.number = self.last_number + 1;
            self.add(first, v1::Declaration { claims: vec![claim], ..empty.clone() });
        }
        for mut membership in declaration.memberships {
            membership.number = self.last_number + 1;
            self.add(first, v1::Declaration { memberships: vec![membership], ..empty.clone() });
        }
        if is_open {
            self.items.entry(first).and_modify(|item| item.traceparent = traceparent);
            self.send_unsent(now);
        } else {
            (first..=self.last_number).for_each(|number| self.end(number, End::Lost(LostReason::Forgotten)));
        }
        first
    }

    fn add(&mut self, declaration: u64, declared: v1::Declaration) {
        self.last_number += 1;
        let (number, session_number) = (self.last_number, declared.session);
        if let Some(session) = self.session_mut(session_number) {
            session.parts.insert(number);
        }
        let item = Item {
            declaration,
            traceparent: String::new(),
            session_number,
            session: declared.open.is_some().then(Session::default),
            declared: Some(declared),
            sent: None,
            withdrawn: None,
            token: None,
        };
        self.items.insert(number, Box::new(item));
    }

    fn session_mut(&mut self, number: u64) -> Option<&mut Session> {
        self.items.get_mut(&number)?.session.as_mut()
    }

    fn withdraw(&mut self, number: u64, traceparent: String, now: Moment) {
        let Some(item) = self.items.get(&number).filter(|item| item.withdrawn.is_none()) else { return };
        if item.sent.is_none() {
            return self.end(number, End::Withdrawn);
        }
        let parts = item.session.as_ref().map(|session| session.parts.clone()).unwrap_or_default();
        for number in [number].into_iter().chain(parts) {
            if let Some(item) = self.items.get_mut(&number).filter(|item| item.withdrawn.is_none()) {
                item.withdrawn = Some(self.epoch);
                self.events.push_back(Event::Changed { number, status: Status::Withdrawn });
            }
        }
        self.send_change(Changed::Withdraw(number), traceparent, now);
    }

    /// Processes the state of one number. What is withdrawn has only an end; what is not in the table, nothing.
    fn state(&mut self, number: u64, kind: state::Kind, now: Moment) {
        let Some(item) = self.items.get_mut(&number) else { return };
        let is_withdrawn = item.withdrawn.is_some();
        if !is_withdrawn {
            self.unconfirmed -= item.unconfirmed();
            item.declared = None;
        }
        // The database has lost the history in which the claim was granted: others may have held its locks since.
        let is_lost = match &kind {
            state::Kind::Held(held) => item.token.is_some_and(|token| token != held.token),
            state::Kind::Waiting(_) => item.token.is_some(),
            _ => false,
        };
        if is_lost {
            // Not released, even if it is withdrawn.
            item.withdrawn = None;
            return self.abandon(number, End::Lost(LostReason::Forgotten), now);
        }
        let status = match kind {
            state::Kind::Ended(ended) if ended.reason == 0 => {
                return self.end(number, End::Lost(LostReason::Forgotten));
            }
            state::Kind::Ended(ended) => return self.end(number, End::Lost(LostReason::Ended(ended))),
            state::Kind::Busy(busy) => return self.end(number, End::Busy(busy)),
            state::Kind::Rejected(refusal) => {
                self.leave_if_rejected(&refusal);
                return self.end(number, End::Rejected(refusal));
            }
            _ if is_withdrawn => return,
            state::Kind::Open(open) => return self.opened(number, &open, now),
            state::Kind::Waiting(waiting) => Status::Waiting(v1::BusyState { holder: waiting.holder }),
            state::Kind::Held(held) => {
                item.token = Some(held.token);
                Status::Held { token: held.token, transfer: held.transfer.map(|transfer| (transfer, now)) }
            }
            state::Kind::Joined(joined) => Status::Joined(joined.member),
        };
        self.events.push_back(Event::Changed { number, status });
    }

    /// Ends what this client must not use any more. The server may still have it: others need not wait for its end.
    fn abandon(&mut self, number: u64, end: End, now: Moment) {
        self.end(number, end);
        self.send_change(Changed::Withdraw(number), String::new(), now);
    }

    /// Ends what has this number, and then everything in it: a claim that ended with its session was not lost alone.
    fn end(&mut self, number: u64, end: End) {
        let Some(item) = self.items.remove(&number) else { return };
        self.unconfirmed -= item.unconfirmed();
        if let Some(session) = self.session_mut(item.session_number) {
            session.parts.remove(&number);
        }
        let is_lost = item.token.is_some_and(|token| token < self.lost_revision);
        let status = Status::Ended(match end.clone() {
            End::Lost(LostReason::Forgotten) if item.withdrawn.is_some() && !is_lost => End::Withdrawn,
            End::Lost(LostReason::Ended(ended)) if item.withdrawn.is_some() && is_by_client(&ended) => End::Withdrawn,
            end => end,
        });
        self.events.push_back(Event::Changed { number, status });
        for part in item.session.into_iter().flat_map(|session| session.parts) {
            self.end(part, end.clone());
        }
    }
}

/// Whether a withdrawal leads to such an end.
fn is_by_client(ended: &v1::EndedState) -> bool {
    matches!(ended.reason(), v1::EndReason::Released | v1::EndReason::Transferred | v1::EndReason::Closed)
}
