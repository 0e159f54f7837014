//! The current stream: its Hello, what is sent on it, and when to leave its server.

use std::collections::VecDeque;

use prost::Message;
use tenure_proto::v1;
use tenure_proto::v1::change::Kind as Changed;
use tenure_proto::v1::connect_request::Kind;

use super::{End, Event, Item, Protocol};
use crate::clock::Moment;
use crate::error::LostReason;

/// The most changes in one message: the contract's bound.
const CHANGES_PER_MESSAGE: usize = 1_000;
/// With this many bytes a message is complete. With what is added last it is below the contract's 4 MiB, and however
/// small its claims are, they have fewer fields than a server accepts in one message.
const BYTES_PER_MESSAGE: usize = 1 << 20;
/// The most bytes of declarations that are sent and not confirmed, but for the last one. A Hello repeats them, within the
/// contract's bound of 1 MiB.
const UNCONFIRMED_BYTES: usize = 900_000;
/// The most bytes of a number in a message, and of the tag and the length before a declaration.
const BYTES_PER_NUMBER: usize = 10;

/// A stream, from its Hello on.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) epoch: u64,
    /// The number of its Hello among the keep-alives.
    pub(super) hello: u64,
    /// When its Hello was queued.
    pub(super) connected: Moment,
    /// The messages to send. A keep-alive acknowledges the changes before it.
    pub(super) outgoing: VecDeque<Kind>,
    /// The bytes of the last message, if it has changes.
    bytes: usize,
    /// When the oldest change that has a reply was queued, of those since the last states ...
    pub(super) asked: Option<Moment>,
    /// ... and whether a keep-alive was sent because of it.
    pub(super) is_probed: bool,
    /// Whether the client is to connect to another server.
    pub(super) is_left: bool,
}

impl Item {
    /// Whether a Hello states it. What was withdrawn before a server confirmed it is not; what was withdrawn later is,
    /// so that the reason of its end is reported.
    fn is_stated(&self) -> bool {
        self.sent.is_some() && (self.withdrawn.is_none() || self.declared.is_none())
    }

    /// The bytes of its declaration, if that was sent and is not confirmed.
    pub(super) fn unconfirmed(&self) -> usize {
        self.declared.as_ref().filter(|_| self.sent.is_some()).map_or(0, Message::encoded_len)
    }
}

impl Protocol {
    /// A stream was opened: the current one from now on, on which everything is stated. Returns its epoch.
    pub(crate) fn handle_connected(&mut self, now: Moment) -> u64 {
        self.expire(now);
        self.epoch += 1;
        let hello = self.keep_alives.add_hello(now);
        let outgoing = self.hello(now).into_iter().map(Kind::Hello).collect();
        let (epoch, connected) = (self.epoch, now);
        let (asked, is_probed, is_left, bytes) = (None, false, false, 0);
        self.stream = Some(Stream { epoch, hello, connected, outgoing, bytes, asked, is_probed, is_left });
        self.plan_keep_alive(now);
        let withdrawn = self.items.iter().filter(|(_, item)| self.is_withdrawn_again(item)).map(|(number, _)| *number);
        for number in withdrawn.collect::<Vec<_>>() {
            self.send_change(Changed::Withdraw(number), String::new(), now);
        }
        self.send_unsent(now);
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
        if self.epoch == epoch {
            (self.client_id, self.stream) = (new_client_id, None);
            while let Some(number) = self.items.first_key_value().map(|(number, _)| *number) {
                self.end(number, End::Lost(LostReason::InUse));
            }
        }
    }

    /// The next message to send on the current stream.
    pub(crate) fn poll_transmit(&mut self) -> Option<v1::ConnectRequest> {
        Some(v1::ConnectRequest { kind: Some(self.stream.as_mut()?.outgoing.pop_front()?) })
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
            self.end(number, End::Withdrawn);
        }
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

    /// Queues a change, if there is a stream: successive ones go together.
    pub(super) fn send_change(&mut self, kind: Changed, traceparent: String, now: Moment) {
        let Some(stream) = &mut self.stream else { return };
        if stream.asked.is_none() && matches!(kind, Changed::Declare(_) | Changed::Withdraw(_)) {
            (stream.asked, stream.is_probed) = (Some(now), false);
        }
        let change = v1::Change { kind: Some(kind), traceparent };
        let bytes = change.encoded_len() + BYTES_PER_NUMBER;
        match stream.outgoing.back_mut() {
            Some(Kind::Changes(last))
                if last.changes.len() < CHANGES_PER_MESSAGE && stream.bytes < BYTES_PER_MESSAGE =>
            {
                stream.bytes += bytes;
                last.changes.push(change);
            }
            _ => {
                stream.bytes = bytes;
                stream.outgoing.push_back(Kind::Changes(v1::Changes { changes: vec![change] }));
            }
        }
    }

    /// Declares what no server knows yet, as far as the bound on what is unconfirmed allows.
    pub(super) fn send_unsent(&mut self, now: Moment) {
        while self.stream.is_some()
            && self.unconfirmed < UNCONFIRMED_BYTES
            && let Some((_, first)) = self.items.range_mut(self.last_sent + 1..).next()
        {
            let (declaration, traceparent) = (first.declaration, std::mem::take(&mut first.traceparent));
            let mut declarations = Vec::new();
            let items = self.items.range_mut(self.last_sent + 1..);
            for (number, item) in items.take_while(|(_, item)| item.declaration == declaration) {
                self.last_sent = *number;
                if item.withdrawn.is_none() {
                    item.sent = Some(now);
                    self.unconfirmed += item.unconfirmed();
                    item.declared.iter().for_each(|declared| join(&mut declarations, declared, true));
                }
            }
            if let Some(declaration) = declarations.pop() {
                self.send_change(Changed::Declare(declaration), traceparent, now);
            }
        }
    }

    /// Whether it is withdrawn by a change of its own, after the Hello that states it.
    fn is_withdrawn_again(&self, item: &Item) -> bool {
        let session = self.items.get(&item.session_number).filter(|_| item.session.is_none());
        item.is_stated() && item.withdrawn.is_some() && session.is_none_or(|session| session.withdrawn.is_none())
    }

    /// States everything, in parts within the contract's bound.
    fn hello(&mut self, now: Moment) -> Vec<v1::Hello> {
        let (namespace, client_id) = (self.namespace.clone(), self.client_id.clone());
        let empty = v1::Hello { namespace, client_id, epoch: self.epoch, ..v1::Hello::default() };
        let (mut complete, mut part, mut bytes, mut declaration) = (Vec::new(), empty.clone(), 0, 0);
        for (number, item) in self.items.iter_mut().filter(|(_, item)| item.is_stated()) {
            item.sent = Some(now);
            if bytes >= BYTES_PER_MESSAGE {
                complete.push(v1::Hello { more: true, ..std::mem::replace(&mut part, empty.clone()) });
                (bytes, declaration) = (0, 0);
            }
            bytes += BYTES_PER_NUMBER * 2;
            let Some(declared) = &item.declared else {
                part.known.push(*number);
                let is_paused = item.session.as_ref().is_some_and(|session| session.paused.is_some());
                part.paused.extend(is_paused.then_some(*number));
                continue;
            };
            bytes += declared.encoded_len();
            join(&mut part.declared, declared, declaration == item.declaration);
            declaration = item.declaration;
        }
        complete.push(part);
        complete
    }
}

/// Adds a declaration to the last one, if they were made together.
fn join(declarations: &mut Vec<v1::Declaration>, declared: &v1::Declaration, is_together: bool) {
    match declarations.last_mut().filter(|_| is_together) {
        Some(last) => {
            last.claims.extend_from_slice(&declared.claims);
            last.memberships.extend_from_slice(&declared.memberships);
        }
        None => declarations.push(declared.clone()),
    }
}
