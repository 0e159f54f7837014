//! The servers: `server/core/src/table/clients.rs`, `server/src/grpc/connect`.

use std::collections::BTreeSet;

use super::world::{Number, Reply, Request, Stream, Table, World};
use super::{Flaw, Limits};

impl World {
    /// The server of a stream decides its next message.
    pub(super) fn decide(&mut self, index: usize, limits: &Limits) {
        let Some(request) = self.streams[index].requests.pop_front() else { return };
        let Stream { epoch, server, connected, .. } = self.streams[index];
        let is_connected = (self.table.epoch, self.table.home, connected) == (epoch, server, Some(self.losses));
        match request {
            Request::Hello { known, declared } if epoch > self.table.epoch || limits.has(Flaw::LateHello) => {
                self.streams[index].connected = Some(self.losses);
                self.reply(index, Reply::Welcome);
                self.commit(|table| (table.epoch, table.home) = (epoch, server));
                self.reconcile(index, &known, &declared, limits);
            }
            Request::Declare(number) if is_connected || limits.has(Flaw::LateChange) => {
                self.make(index, number, limits)
            }
            Request::Withdraw(number) if is_connected || limits.has(Flaw::LateChange) => {
                if self.table.items.contains(&number) {
                    self.commit(|table| table.end(number));
                    self.report(Reply::Ended(number));
                }
            }
            // The server ends the stream.
            _ => self.streams[index].requests.clear(),
        }
    }

    /// All of this is one commit; the model loses only the ends of batches, which includes that.
    fn reconcile(&mut self, index: usize, known: &BTreeSet<Number>, declared: &BTreeSet<Number>, limits: &Limits) {
        let drops = |number: &&Number| {
            let is_stated = known.contains(number) || declared.contains(number);
            let is_dropped = limits.has(Flaw::HelloDropsKnown) && known.contains(number);
            is_dropped || !is_stated && !limits.has(Flaw::HelloKeepsUnstated)
        };
        let dropped: Vec<Number> = self.table.items.iter().filter(drops).copied().collect();
        self.commit(|table| dropped.iter().for_each(|number| table.end(*number)));
        for number in known {
            if self.table.items.contains(number) || limits.has(Flaw::HelloDropsKnown) {
                self.reply(index, Reply::Exists(*number));
            } else if limits.has(Flaw::HelloRevives) {
                self.create(*number);
                self.reply(index, Reply::Exists(*number));
            } else {
                self.reply(index, Reply::Ended(*number));
            }
        }
        for number in declared {
            if limits.has(Flaw::HelloDropsDeclared) {
                self.reply(index, Reply::Exists(*number));
            } else {
                self.make(index, *number, limits);
            }
        }
    }

    /// Makes what is declared, unless its number was used.
    fn make(&mut self, index: usize, number: Number, limits: &Limits) {
        if self.table.items.contains(&number) {
            self.reply(index, Reply::Exists(number));
        } else if number <= self.table.last && !limits.has(Flaw::NumberReused) {
            self.reply(index, Reply::Ended(number));
        } else {
            self.create(number);
            self.reply(index, Reply::Exists(number));
        }
    }

    fn create(&mut self, number: Number) {
        self.is_revived |= self.table.ended.contains(&number);
        self.commit(|Table { last, items, .. }| {
            *last = number.max(*last);
            items.insert(number);
        });
    }

    /// Reports to the client's stream what has been committed.
    pub(super) fn report(&mut self, reply: Reply) {
        let (epoch, losses) = (self.table.epoch, self.losses);
        let is_connected = |stream: &Stream| (stream.epoch, stream.connected) == (epoch, Some(losses));
        if let Some(index) = self.streams.iter().position(is_connected) {
            self.reply(index, reply);
        }
    }

    /// Nothing arrives on a stream that the client has left.
    fn reply(&mut self, index: usize, reply: Reply) {
        if self.is_connected && self.streams[index].epoch == self.epoch {
            self.streams[index].replies.push_back(reply);
        }
    }
}
