//! The client: `client-rs/src/protocol`.

use std::collections::VecDeque;

use super::world::{Action, Item, Number, Reply, Request, Stream, World};
use super::{Flaw, Limits};

impl Item {
    /// Whether a Hello states it.
    fn is_stated(self, limits: &Limits) -> bool {
        self.withdrawn.is_none() || (self.is_known && !limits.has(Flaw::WithdrawnUnconfirmed))
    }
}

impl World {
    pub(super) fn client_actions(&self, limits: &Limits, actions: &mut Vec<Action>) {
        if self.budget.declares > 0 {
            actions.push(Action::Declare);
        }
        if self.budget.withdraws > 0 {
            let wanted = self.items.iter().filter(|(_, item)| item.withdrawn.is_none());
            actions.extend(wanted.map(|(number, _)| Action::Withdraw(*number)));
        }
        if self.budget.connects > 0 {
            actions.extend((0..limits.servers).map(Action::Connect));
        }
        if self.is_connected {
            actions.push(Action::Break);
            let current = self.streams.iter().find(|stream| stream.epoch == self.epoch);
            actions.extend(current.filter(|stream| !stream.replies.is_empty()).map(|_| Action::Receive));
        }
    }

    fn send(&mut self, request: Request) {
        if let Some(stream) = self.current() {
            stream.requests.push_back(request);
        }
    }

    pub(super) fn declare(&mut self) {
        self.budget.declares -= 1;
        self.last += 1;
        let (number, was_sent) = (self.last, self.is_connected);
        self.items.insert(number, Item { was_sent, ..Item::default() });
        self.send(Request::Declare(number));
    }

    pub(super) fn withdraw(&mut self, number: Number, limits: &Limits) {
        self.budget.withdraws -= 1;
        let epoch = self.epoch;
        let Some(item) = self.items.get_mut(&number) else { return };
        if !item.was_sent {
            self.items.remove(&number);
            return;
        }
        item.withdrawn = Some(epoch);
        if limits.has(Flaw::WithdrawnUnconfirmed) {
            self.ended(number);
        }
        self.send(Request::Withdraw(number));
    }

    /// Connects, also while a stream is open.
    pub(super) fn connect(&mut self, server: u8, limits: &Limits) {
        self.budget.connects -= 1;
        self.disconnect();
        self.epoch += 1;
        let stated = || self.items.iter().filter(|(_, item)| item.is_stated(limits));
        let numbers = |known| stated().filter(move |(_, item)| item.is_known == known).map(|(number, _)| *number);
        let mut requests =
            VecDeque::from([Request::Hello { known: numbers(true).collect(), declared: numbers(false).collect() }]);
        if !limits.has(Flaw::WithdrawalForgotten) {
            let withdrawn = stated().filter(|(_, item)| item.withdrawn.is_some());
            requests.extend(withdrawn.map(|(number, _)| Request::Withdraw(*number)));
        }
        self.items.values_mut().for_each(|item| item.was_sent |= item.withdrawn.is_none());
        let (epoch, connected, replies) = (self.epoch, None, VecDeque::new());
        self.streams.push(Stream { epoch, server, connected, requests, replies });
        (self.is_connected, self.is_welcomed) = (true, false);
    }

    /// The client receives nothing more from its stream. What it has sent may still arrive.
    pub(super) fn disconnect(&mut self) {
        if let Some(stream) = self.current() {
            stream.replies.clear();
        }
        (self.is_connected, self.is_welcomed) = (false, false);
    }

    pub(super) fn receive(&mut self) {
        let Some(reply) = self.current().and_then(|stream| stream.replies.pop_front()) else { return };
        match reply {
            Reply::Welcome => {
                self.is_welcomed = true;
                let epoch = self.epoch;
                let unstated = |item: &Item| !item.is_known && item.withdrawn.is_some_and(|at| at < epoch);
                let unstated = self.items.iter().filter(|(_, item)| unstated(item)).map(|(number, _)| *number);
                for number in unstated.collect::<Vec<_>>() {
                    self.ended(number);
                }
            }
            Reply::Exists(number) => {
                if let Some(item) = self.items.get_mut(&number).filter(|item| item.withdrawn.is_none()) {
                    item.is_known = true;
                }
            }
            Reply::Ended(number) => self.ended(number),
        }
    }

    /// The client learns that something has ended.
    fn ended(&mut self, number: Number) {
        self.items.remove(&number);
        let losses = self.losses;
        let is_current = self.current().is_some_and(|stream| stream.connected == Some(losses));
        self.ended_early |= is_current && self.table.items.contains(&number);
    }
}
