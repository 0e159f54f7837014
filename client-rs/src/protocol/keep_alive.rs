//! Keep-alives, the expiry of sessions, and the one timer of both.

use std::collections::VecDeque;
use std::time::Duration;

use tenure_proto::v1;
use tenure_proto::v1::change::Kind as Changed;
use tenure_proto::v1::connect_request::Kind;

use super::{End, Event, Item, Protocol, Session, Status, Validity};
use crate::clock::Moment;

/// Without a reply to a change for this long, a keep-alive shows whether the server is there.
const PROBE_AFTER: Duration = Duration::from_millis(250);
/// Without a reply for this long, the client connects to another server, which may be faster: for a change if it has no
/// open session, for a keep-alive or a Hello always.
const PATIENCE: Duration = Duration::from_millis(1_000);
/// The same as a part of the shortest time for which a session is valid, if that is less.
const PATIENCE_DIVISOR: u32 = 4;

/// The keep-alives of the current stream. A Hello renews like a keep-alive, and has a number like one.
#[derive(Debug, Default)]
pub(super) struct KeepAlives {
    last_number: u64,
    /// Those without an acknowledgement: their numbers, and when they were queued, which is not after they are sent.
    unanswered: VecDeque<(u64, Moment)>,
    /// When the next one is due, if a session needs it.
    due: Option<Moment>,
    /// The shortest `valid_for` of the sessions, when the last one was sent.
    shortest: Option<Duration>,
}

impl KeepAlives {
    /// Adds one, and returns its number.
    fn add(&mut self, now: Moment) -> u64 {
        self.last_number += 1;
        self.unanswered.push_back((self.last_number, now));
        self.last_number
    }

    /// Adds the Hello of a new stream.
    pub(super) fn add_hello(&mut self, now: Moment) -> u64 {
        self.unanswered.clear();
        self.add(now)
    }

    /// Removes an acknowledged one, and all before it. Returns when it was queued.
    pub(super) fn acknowledge(&mut self, number: u64) -> Option<Moment> {
        let sent = self.unanswered.iter().find(|(unanswered, _)| *unanswered == number).map(|(_, sent)| *sent);
        self.unanswered.retain(|(unanswered, _)| *unanswered > number);
        sent
    }

    /// Takes a session into account.
    fn include(&mut self, validity: &Validity, renewed: Moment) {
        self.due = earliest(self.due, renewed.after(validity.renew_after));
        self.shortest = earliest(self.shortest, validity.valid_for);
    }

    /// When the server has not replied to the oldest one for too long.
    fn patience_ends(&self) -> Option<Moment> {
        let patience = self.shortest.map_or(PATIENCE, |shortest| PATIENCE.min(shortest / PATIENCE_DIVISOR));
        self.unanswered.front().map(|(_, sent)| sent.after(patience))
    }
}

impl Session {
    /// Whether the keep-alive of this number renews it.
    fn is_renewed_by(&self, number: u64) -> bool {
        number >= self.renewed_from && self.paused.is_none_or(|paused| number < paused)
    }
}

impl Protocol {
    /// When to call [`handle_timeout`](Self::handle_timeout) next.
    pub(crate) fn poll_timeout(&self) -> Option<Moment> {
        let of_stream = self.stream.iter().flat_map(|stream| {
            let probe = stream.asked.map(|asked| asked.after(if stream.is_probed { PATIENCE } else { PROBE_AFTER }));
            let leaving = self.keep_alives.patience_ends().into_iter().chain(probe).filter(|_| !stream.is_left);
            leaving.chain(self.keep_alives.due)
        });
        of_stream.chain(self.next_expiry).min()
    }

    /// Does what is due at `now`.
    pub(crate) fn handle_timeout(&mut self, now: Moment) {
        self.expire(now);
        if self.stream.is_some() && self.keep_alives.due.is_some_and(|due| due <= now) {
            self.plan_keep_alive(now);
            if self.keep_alives.due.is_some() {
                self.send_keep_alive(now);
            }
        }
        if self.keep_alives.patience_ends().is_some_and(|end| end <= now) {
            self.leave();
        }
        let has_session = self.has_open_session();
        let Some(stream) = &mut self.stream else { return };
        let asked_before = |limit| stream.asked.is_some_and(|asked| asked.after(limit) <= now);
        if asked_before(PATIENCE) {
            stream.asked = None;
            if !has_session {
                self.leave();
            }
        } else if asked_before(PROBE_AFTER) && !stream.is_probed {
            stream.is_probed = true;
            self.send_keep_alive(now);
        }
    }

    /// Keep-alives no longer renew the session, if it is open.
    pub(super) fn pause(&mut self, number: u64, now: Moment) {
        let next = self.keep_alives.last_number + 1;
        let is_running = |session: &&mut Session| session.paused.is_none() && session.validity.is_some();
        if let Some(session) = self.session_mut(number).filter(is_running) {
            session.paused = Some(next);
            self.set_paused(number, true);
            self.send_change(Changed::Pause(number), String::new(), now);
        }
    }

    pub(super) fn resume(&mut self, number: u64, now: Moment) {
        let next = self.keep_alives.last_number + 1;
        if let Some(session) = self.session_mut(number).filter(|session| session.paused.is_some()) {
            (session.renewed_from, session.paused) = (next, None);
            self.set_paused(number, false);
            self.send_change(Changed::Resume(number), String::new(), now);
            // Its acknowledgement is that of the change, too.
            self.send_keep_alive(now);
            self.plan_keep_alive(now);
        }
    }

    fn set_paused(&mut self, number: u64, is_paused: bool) {
        if let Some(validity) = self.session_mut(number).and_then(|session| session.validity.as_mut()) {
            validity.is_paused = is_paused;
            let status = Status::Open(*validity);
            self.events.push_back(Event::Changed { number, status });
        }
    }

    /// Queues a keep-alive, if there is a stream.
    fn send_keep_alive(&mut self, now: Moment) {
        if let Some(stream) = &mut self.stream {
            let number = self.keep_alives.add(now);
            stream.outgoing.push_back(Kind::KeepAlive(v1::KeepAlive { number }));
        }
    }

    /// Plans the next keep-alive after one that is sent at `now`.
    pub(super) fn plan_keep_alive(&mut self, now: Moment) {
        (self.keep_alives.due, self.keep_alives.shortest) = (None, None);
        let items = self.items.values().filter(|item| item.withdrawn.is_none());
        let sessions = items.filter_map(|item| item.session.as_ref().filter(|session| session.paused.is_none()));
        for validity in sessions.filter_map(|session| session.validity) {
            self.keep_alives.include(&validity, now);
        }
    }

    /// A keep-alive was acknowledged.
    pub(super) fn kept_alive(&mut self, number: u64) {
        let Some(sent) = self.keep_alives.acknowledge(number) else { return };
        for (session_number, item) in self.items.iter_mut().filter(|(_, item)| item.withdrawn.is_none()) {
            // A session that this stream has not reported may have ended.
            let is_renewed = |session: &&mut Session| session.is_renewed_by(number) && session.epoch == self.epoch;
            let session = item.session.as_mut().filter(is_renewed);
            if let Some(validity) = session.and_then(|session| session.validity.as_mut())
                && sent > validity.renewed
            {
                validity.renewed = sent;
                let status = Status::Open(*validity);
                self.events.push_back(Event::Changed { number: *session_number, status });
            }
        }
    }

    /// A session is open, according to the current stream.
    pub(super) fn opened(&mut self, number: u64, state: &v1::OpenState, now: Moment) {
        let Some(stream) = &self.stream else { return };
        let Some(item) = self.items.get_mut(&number) else { return };
        let Some(session) = &mut item.session else { return };
        let by_hello = session.is_renewed_by(stream.hello).then_some(stream.connected);
        // If it was declared on this stream after the Hello, that declaration is later.
        let before = session.validity.map(|validity| validity.renewed).or(item.sent);
        let Some(renewed) = before.max(by_hello) else { return };
        let validity = Validity::new(state, renewed, session.paused.is_some());
        (session.validity, session.epoch) = (Some(validity), self.epoch);
        if !validity.is_paused {
            self.keep_alives.include(&validity, renewed);
        }
        self.next_expiry = earliest(self.next_expiry, validity.until());
        self.events.push_back(Event::Changed { number, status: Status::Open(validity) });
        // The reply may have taken longer than the session is valid.
        self.expire(now);
    }

    /// Ends the sessions that are lost.
    pub(super) fn expire(&mut self, now: Moment) {
        if self.next_expiry.is_none_or(|next| next > now) {
            return;
        }
        let (mut lost, mut next) = (Vec::new(), None);
        for (number, item) in self.items.iter().filter(|(_, item)| item.withdrawn.is_none()) {
            let Some(validity) = item.session.as_ref().and_then(|session| session.validity) else { continue };
            match validity.loss(now) {
                Some(reason) => lost.push((*number, reason)),
                None => next = earliest(next, validity.until()),
            }
        }
        self.next_expiry = next;
        lost.into_iter().for_each(|(number, reason)| self.abandon(number, End::Lost(reason), now));
    }

    /// The shortest time for which a session is valid, if there is one.
    pub(crate) fn shortest_validity(&self) -> Option<Duration> {
        self.keep_alives.shortest
    }

    pub(super) fn has_open_session(&self) -> bool {
        let is_open = |item: &Item| item.session.as_ref().is_some_and(|session| session.validity.is_some());
        self.items.values().any(|item| item.withdrawn.is_none() && is_open(item))
    }
}

fn earliest<T: Ord>(one: Option<T>, other: T) -> Option<T> {
    one.into_iter().chain([other]).min()
}
