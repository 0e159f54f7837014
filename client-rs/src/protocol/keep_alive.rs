//! Keep-alives, the phases of sessions, and the one timer of both.

use std::collections::VecDeque;
use std::time::Duration;

use tenure_proto::v1;
use tenure_proto::v1::change::Kind as Changed;

use super::item::{Item, Open, Session};
use super::{End, Event, Outgoing, Protocol, Validity};
use crate::clock::Moment;

/// Without a reply to a change for this long, a keep-alive shows whether the server is there.
const PROBE_AFTER: Duration = Duration::from_millis(250);
/// Without a reply for this long, the client connects to another server, which may be faster: for a change if it has no
/// open session, for a keep-alive or a Hello always.
const PATIENCE: Duration = Duration::from_millis(1_000);
/// The same as a part of the shortest time for which a session is valid, if that is less.
const PATIENCE_DIVISOR: u32 = 4;

/// The keep-alives of all streams. A Hello renews like a keep-alive, and has a number like one.
#[derive(Debug, Default)]
pub(super) struct KeepAlives {
    last_number: u64,
    /// Those without an acknowledgement on the current stream and the one before: their numbers, and when they were
    /// queued, which is not after they are sent.
    unanswered: VecDeque<(u64, Moment)>,
    /// When the next one is due, if a session needs it.
    due: Option<Moment>,
    /// The shortest `valid_for` of the sessions, when the last one was sent.
    shortest: Option<Duration>,
}

impl KeepAlives {
    pub(super) fn next_number(&self) -> u64 {
        self.last_number + 1
    }

    /// Adds one, and returns its number.
    fn add(&mut self, now: Moment) -> u64 {
        self.last_number += 1;
        self.unanswered.push_back((self.last_number, now));
        self.last_number
    }

    /// Adds a Hello, after those of the last stream, whose first number was `previous`.
    pub(super) fn add_hello(&mut self, previous: Option<u64>, now: Moment) -> u64 {
        self.unanswered.retain(|(number, _)| previous.is_some_and(|previous| *number >= previous));
        self.add(now)
    }

    /// Removes an acknowledged one, and all before it. Returns when it was queued.
    pub(super) fn acknowledge(&mut self, number: u64) -> Option<Moment> {
        let sent = self.unanswered.iter().find(|(unanswered, _)| *unanswered == number).map(|(_, sent)| *sent);
        self.unanswered.retain(|(unanswered, _)| *unanswered > number);
        sent
    }
}

impl Protocol {
    /// When to call [`handle_timeout`](Self::handle_timeout) next.
    pub(crate) fn poll_timeout(&self) -> Option<Moment> {
        let of_stream = self.stream.iter().flat_map(|stream| {
            let unanswered = self.oldest_unanswered().map(|sent| sent.after(self.patience()));
            let probe = stream.asked.map(|asked| asked.after(if stream.is_probed { PATIENCE } else { PROBE_AFTER }));
            let leaving = unanswered.into_iter().chain(probe).filter(|_| !stream.is_left);
            leaving.chain(self.keep_alives.due)
        });
        of_stream.chain(self.next_phase).min()
    }

    /// Does what is due at `now`.
    pub(crate) fn handle_timeout(&mut self, now: Moment) {
        self.check_phases(now);
        if self.stream.is_some() && self.keep_alives.due.is_some_and(|due| due <= now) {
            self.plan_keep_alive(now);
            if self.keep_alives.due.is_some() {
                self.send_keep_alive(now);
            }
        }
        if self.oldest_unanswered().is_some_and(|sent| sent.after(self.patience()) <= now) {
            self.leave();
        }
        let has_session = self.has_open_session();
        let Some(stream) = &mut self.stream else { return };
        let asked_before = |limit| stream.asked.is_some_and(|asked: Moment| asked.after(limit) <= now);
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

    /// Queues a keep-alive, if there is a stream.
    pub(super) fn send_keep_alive(&mut self, now: Moment) {
        if let Some(stream) = &mut self.stream {
            stream.outgoing.push_back(Outgoing::KeepAlive(self.keep_alives.add(now)));
        }
    }

    /// Plans the next keep-alive after one that is sent at `now`.
    pub(super) fn plan_keep_alive(&mut self, now: Moment) {
        let to_renew = |session: &&Session| session.paused.is_none();
        let open = |session: &Session| session.open.as_ref().map(|open| open.validity);
        let sessions = self.items.values().filter(|item| item.withdrawn.is_none()).flat_map(|item| &item.session);
        let (due, shortest) =
            sessions.filter(to_renew).filter_map(open).fold((None, None), |(due, shortest), validity| {
                (earliest(due, now.after(validity.renew_after)), earliest(shortest, validity.valid_for))
            });
        (self.keep_alives.due, self.keep_alives.shortest) = (due, shortest);
    }

    /// A keep-alive was acknowledged by the stream of this epoch.
    pub(super) fn kept_alive(&mut self, epoch: u64, number: u64) {
        let Some(sent) = self.keep_alives.acknowledge(number) else { return };
        for (number_of, item) in &mut self.items {
            let Some(session) = item.session.as_mut().filter(|_| item.withdrawn.is_none()) else { continue };
            let is_renewed = session.is_renewed_by(number);
            // If another stream has reported the session, its Hello counts.
            let Some(open) = session.open.as_mut().filter(|open| is_renewed && open.epoch == epoch) else { continue };
            if sent > open.validity.renewed {
                open.validity.renewed = sent;
                open.is_at_risk = false;
                self.events.push_back(Event::Renewed { session: *number_of, validity: open.validity });
            }
        }
    }

    /// A session is open, according to the current stream.
    pub(super) fn opened(&mut self, number: u64, state: &v1::OpenState, epoch: u64, now: Moment) {
        let hello = self.stream.as_ref().map(|stream| (stream.hello, stream.connected));
        let Some(item) = self.items.get_mut(&number) else { return };
        let Some(session) = &mut item.session else { return };
        let by_hello = hello.filter(|(hello, _)| session.is_renewed_by(*hello)).map(|(_, connected)| connected);
        // If it was declared on this stream after the Hello, that declaration is later.
        let before = session.open.as_ref().map_or(item.sent, |open| open.validity.renewed);
        let validity = Validity::new(state, by_hello.map_or(before, |hello| hello.max(before)));
        session.open = Some(Open { epoch, validity, is_at_risk: false });
        if session.paused.is_none() {
            let keep_alives = &mut self.keep_alives;
            let due = validity.renewed.after(validity.renew_after);
            keep_alives.due = earliest(keep_alives.due, due);
            keep_alives.shortest = earliest(keep_alives.shortest, validity.valid_for);
        }
        self.next_phase = earliest(self.next_phase, validity.at_risk_from());
        self.events.push_back(Event::Open { session: number, validity });
        // The reply may have taken longer than the session is valid.
        self.check_phases(now);
    }

    /// Reports the sessions that are at risk, and ends those that are lost: finally, since the server may have granted
    /// their locks to others.
    pub(super) fn check_phases(&mut self, now: Moment) {
        if self.next_phase.is_none_or(|next| next > now) {
            return;
        }
        self.next_phase = None;
        let mut lost = Vec::new();
        for (number, item) in &mut self.items {
            let Some(session) = item.session.as_mut().filter(|_| item.withdrawn.is_none()) else { continue };
            let is_paused = session.paused.is_some();
            let Some(open) = &mut session.open else { continue };
            if open.validity.until() <= now {
                lost.push((*number, if is_paused { End::Paused } else { End::Unrenewed }));
                continue;
            }
            if open.validity.at_risk_from() <= now && !open.is_at_risk {
                open.is_at_risk = true;
                self.events.push_back(Event::AtRisk { session: *number });
            }
            let next = if open.is_at_risk { open.validity.until() } else { open.validity.at_risk_from() };
            self.next_phase = earliest(self.next_phase, next);
        }
        for (number, end) in lost {
            self.end(number, &end);
            // The server may still have it: others need not wait for its end. The next Hello does not state it.
            self.send_change(Changed::Withdraw(number), now);
        }
    }

    /// The shortest time for which a session is valid, if there is one.
    pub(crate) fn shortest_validity(&self) -> Option<Duration> {
        self.keep_alives.shortest
    }

    /// How long a keep-alive or a Hello may remain without a reply.
    fn patience(&self) -> Duration {
        self.keep_alives.shortest.map_or(PATIENCE, |shortest| PATIENCE.min(shortest / PATIENCE_DIVISOR))
    }

    /// When the oldest keep-alive of the current stream without a reply was sent.
    fn oldest_unanswered(&self) -> Option<Moment> {
        let stream = self.stream.as_ref().filter(|stream| !stream.is_left)?;
        let of_stream = |(number, _): &&(u64, Moment)| *number >= stream.hello;
        self.keep_alives.unanswered.iter().find(of_stream).map(|(_, sent)| *sent)
    }

    pub(super) fn has_open_session(&self) -> bool {
        let open = |item: &Item| item.session.as_ref().is_some_and(|session| session.open.is_some());
        self.items.values().any(|item| item.withdrawn.is_none() && open(item))
    }
}

fn earliest<T: Ord>(one: Option<T>, other: T) -> Option<T> {
    one.into_iter().chain([other]).min()
}
