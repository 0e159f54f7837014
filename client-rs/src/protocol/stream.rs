//! The current stream: its beginning, what is sent on it, and when to leave its server.

use std::collections::VecDeque;

use tenure_proto::v1;
use tenure_proto::v1::change::Kind as Changed;

use super::item::Item;
use super::message::{self, Hellos, Outgoing};
use super::{End, Event, Protocol};
use crate::clock::Moment;

/// A stream, from its Hello on.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) epoch: u64,
    /// The number of its Hello among the keep-alives.
    pub(super) hello: u64,
    /// When its Hello was queued.
    pub(super) connected: Moment,
    pub(super) outgoing: VecDeque<Outgoing>,
    /// When the oldest change that has a reply was queued, of those since the last states ...
    pub(super) asked: Option<Moment>,
    /// ... and whether a keep-alive was sent because of it.
    pub(super) is_probed: bool,
    /// Whether the client is to connect to another server.
    pub(super) is_left: bool,
}

impl Protocol {
    /// A stream was opened: the current one from now on, on which everything is stated. Returns its epoch.
    pub(crate) fn handle_connected(&mut self, now: Moment) -> u64 {
        self.check_phases(now);
        self.epoch += 1;
        let previous = self.stream.as_ref().map(|stream| stream.hello);
        let hello = self.keep_alives.add_hello(previous, now);
        self.stream = Some(Stream {
            epoch: self.epoch,
            hello,
            connected: now,
            outgoing: self.hello(now).map(Outgoing::Hello).collect(),
            asked: None,
            is_probed: false,
            is_left: false,
        });
        self.plan_keep_alive(now);
        for change in self.items.iter().filter_map(|(number, item)| self.unstated(*number, item)).collect::<Vec<_>>() {
            self.send_change(change, now);
        }
        self.epoch
    }

    /// The stream of this epoch is gone. No effect if there is a later one.
    pub(crate) fn handle_disconnected(&mut self, epoch: u64) {
        if self.epoch == epoch {
            self.stream = None;
        }
    }

    /// The stream of this epoch was ended because the client has connected again. If it has not, another program uses
    /// its id: everything is lost, and the client continues under the new id.
    pub(crate) fn handle_superseded(&mut self, epoch: u64, new_client_id: String) {
        if self.epoch != epoch {
            return;
        }
        self.client_id = new_client_id;
        self.stream = None;
        while let Some(number) = self.items.first_key_value().map(|(number, _)| *number) {
            self.end(number, &End::Superseded);
        }
    }

    /// The next message to send on the current stream.
    pub(crate) fn poll_transmit(&mut self) -> Option<v1::ConnectRequest> {
        message::next(&mut self.stream.as_mut()?.outgoing)
    }

    /// Whether there is a message to send.
    pub(crate) fn has_outgoing(&self) -> bool {
        self.stream.as_ref().is_some_and(|stream| !stream.outgoing.is_empty())
    }

    /// The Hello has been reconciled: what it did not state has ended.
    pub(super) fn welcomed(&mut self, welcome: &v1::Welcome) {
        let Some(stream) = &self.stream else { return };
        self.lost_revision = welcome.lost_revision;
        self.keep_alives.acknowledge(stream.hello);
        let unstated = |item: &Item| !item.is_stated() && item.withdrawn.is_some_and(|epoch| epoch < stream.epoch);
        let unstated = self.items.iter().filter(|(_, item)| unstated(item));
        for number in unstated.map(|(number, _)| *number).collect::<Vec<_>>() {
            self.end(number, &End::Withdrawn);
        }
        self.events.push_back(Event::Welcomed);
    }

    /// Another server may do what this one cannot: at once if it is the server's own state that it reports, or if no
    /// session depends on this one.
    pub(super) fn leave_if_rejected(&mut self, refusal: &v1::Refusal) {
        let is_its_own = matches!(refusal.reason.as_str(), "DRAINING" | "LEASE_LOST");
        let is_temporary = matches!(refusal.reason.as_str(), "STORE_UNAVAILABLE" | "OUTCOME_UNKNOWN");
        if is_its_own || (is_temporary && !self.has_open_session()) {
            self.leave();
        }
    }

    pub(super) fn leave(&mut self) {
        if let Some(stream) = self.stream.as_mut().filter(|stream| !stream.is_left) {
            stream.is_left = true;
            self.events.push_back(Event::Leave);
        }
    }

    /// Queues the declaration whose first number this is, which is the last one.
    pub(super) fn send_declared(&mut self, declaration: u64, now: Moment) {
        if self.stream.is_none() {
            return;
        }
        let mut hellos = Hellos::new(v1::Hello::default());
        for (number, item) in self.items.range_mut(declaration..) {
            item.was_sent = true;
            hellos.state(*number, item);
        }
        for declared in hellos.finish().flat_map(|hello| hello.declared) {
            self.send_change(Changed::Declare(declared), now);
        }
    }

    /// Queues a change, if there is a stream.
    pub(super) fn send_change(&mut self, kind: Changed, now: Moment) {
        if let Some(stream) = &mut self.stream {
            let has_reply = matches!(kind, Changed::Declare(_) | Changed::Withdraw(_));
            if stream.asked.is_none() && has_reply {
                (stream.asked, stream.is_probed) = (Some(now), false);
            }
            let traceparent = if has_reply { self.traceparent.clone() } else { String::new() };
            stream.outgoing.push_back(Outgoing::Change(v1::Change { kind: Some(kind), traceparent }));
        }
    }

    /// The change that a Hello cannot state: that a session which it declares is paused, and what was withdrawn.
    fn unstated(&self, number: u64, item: &Item) -> Option<Changed> {
        if item.is_stated() && item.withdrawn.is_some() {
            let session = self.items.get(&item.session_number).filter(|_| item.session.is_none());
            return session.is_none_or(|session| session.withdrawn.is_none()).then_some(Changed::Withdraw(number));
        }
        let is_paused = item.session.as_ref().is_some_and(|session| session.paused.is_some());
        (is_paused && item.withdrawn.is_none() && item.declared.is_some()).then_some(Changed::Pause(number))
    }

    /// States everything, except for what was withdrawn before a server has confirmed it. What was withdrawn later is
    /// stated, so that the reason of its end is reported.
    fn hello(&mut self, now: Moment) -> impl Iterator<Item = v1::Hello> + use<> {
        let mut hellos = Hellos::new(v1::Hello {
            namespace: self.namespace.clone(),
            client_id: self.client_id.clone(),
            epoch: self.epoch,
            ..v1::Hello::default()
        });
        for (number, item) in self.items.iter_mut().filter(|(_, item)| item.is_stated()) {
            (item.was_sent, item.sent) = (true, now);
            hellos.state(*number, item);
        }
        hellos.finish()
    }
}
