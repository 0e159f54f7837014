//! The state of the model.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Budget, Limits};

/// The number of something that the client declares.
pub type Number = u8;

/// The number of commits that the database can lose.
const LOST_COMMITS: usize = 2;

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The client declares something.
    Declare,
    /// The client withdraws something.
    Withdraw(Number),
    /// The client connects to a server.
    Connect(u8),
    /// The client learns that its stream is broken.
    Break,
    /// The client receives the next message of its stream.
    Receive,
    /// The server of a stream, by its index, decides its next message.
    Decide(usize),
    /// A server ends something.
    End(Number),
    /// The database loses its last commits, this number of them.
    Lose(usize),
}

/// A message to a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Request {
    Hello { known: BTreeSet<Number>, declared: BTreeSet<Number> },
    Declare(Number),
    Withdraw(Number),
}

/// A message to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Reply {
    Welcome,
    Exists(Number),
    Ended(Number),
}

/// A stream. Those before the last one may still have messages on their way to a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Stream {
    pub(super) epoch: u8,
    pub(super) server: u8,
    /// The number of losses of history when its Hello was decided.
    pub(super) connected: Option<u8>,
    pub(super) requests: VecDeque<Request>,
    pub(super) replies: VecDeque<Reply>,
}

/// What the servers have committed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Table {
    pub(super) epoch: u8,
    pub(super) home: u8,
    pub(super) last: Number,
    pub(super) items: BTreeSet<Number>,
    /// What has ended, as far as the database knows it.
    pub(super) ended: BTreeSet<Number>,
}

/// Something that the client has declared, until it knows that it has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Item {
    /// Whether a server has confirmed it.
    pub(super) is_known: bool,
    pub(super) was_sent: bool,
    /// The epoch in which it was withdrawn.
    pub(super) withdrawn: Option<u8>,
}

/// The state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub(super) budget: Budget,
    pub(super) epoch: u8,
    pub(super) last: Number,
    pub(super) items: BTreeMap<Number, Item>,
    /// Whether the last stream is open, as far as the client knows.
    pub(super) is_connected: bool,
    pub(super) is_welcomed: bool,
    pub(super) streams: Vec<Stream>,
    pub(super) table: Table,
    /// The tables before the last commits.
    pub(super) before: VecDeque<Table>,
    pub(super) losses: u8,
    pub(super) is_revived: bool,
    pub(super) ended_early: bool,
}

impl World {
    pub(super) fn new(budget: Budget) -> Self {
        Self {
            budget,
            epoch: 0,
            last: 0,
            items: BTreeMap::new(),
            is_connected: false,
            is_welcomed: false,
            streams: Vec::new(),
            table: Table::default(),
            before: VecDeque::new(),
            losses: 0,
            is_revived: false,
            ended_early: false,
        }
    }

    pub(super) fn actions(&self, limits: &Limits, actions: &mut Vec<Action>) {
        self.client_actions(limits, actions);
        let undecided = self.streams.iter().enumerate().filter(|(_, stream)| !stream.requests.is_empty());
        actions.extend(undecided.map(|(index, _)| Action::Decide(index)));
        if self.budget.ends > 0 {
            actions.extend(self.table.items.iter().copied().map(Action::End));
        }
        if self.budget.losses > 0 {
            actions.extend((1..=self.before.len()).map(Action::Lose));
        }
    }

    pub(super) fn step(&mut self, action: Action, limits: &Limits) {
        match action {
            Action::Declare => self.declare(),
            Action::Withdraw(number) => self.withdraw(number, limits),
            Action::Connect(server) => self.connect(server, limits),
            Action::Break => self.disconnect(),
            Action::Receive => self.receive(),
            Action::Decide(stream) => self.decide(stream, limits),
            Action::End(number) => {
                self.budget.ends -= 1;
                self.commit(|table| table.end(number));
                self.report(Reply::Ended(number));
            }
            Action::Lose(commits) => self.lose(commits),
        }
        self.streams.retain(|stream| stream.epoch == self.epoch || !stream.requests.is_empty());
    }

    /// The stream that the client uses.
    pub(super) fn current(&mut self) -> Option<&mut Stream> {
        let epoch = self.epoch;
        self.streams.iter_mut().find(|stream| stream.epoch == epoch).filter(|_| self.is_connected)
    }

    /// Whether the servers have what the client wants, if its stream is quiet.
    pub(super) fn agrees(&self) -> bool {
        let is_quiet = |stream: &&Stream| stream.requests.is_empty() && stream.replies.is_empty();
        let current = self.streams.iter().find(|stream| stream.epoch == self.epoch).filter(is_quiet);
        let is_settled = current.is_some_and(|stream| stream.connected == Some(self.losses));
        let wanted = self.items.iter().filter(|(_, item)| item.withdrawn.is_none()).map(|(number, _)| number);
        !(self.is_connected && self.is_welcomed && is_settled) || wanted.eq(&self.table.items)
    }

    /// Makes a commit.
    pub(super) fn commit(&mut self, change: impl FnOnce(&mut Table)) {
        let before = self.table.clone();
        change(&mut self.table);
        if before != self.table && self.budget.losses > 0 {
            self.before.push_back(before);
            if self.before.len() > LOST_COMMITS {
                self.before.pop_front();
            }
        }
    }

    fn lose(&mut self, commits: usize) {
        self.budget.losses -= 1;
        self.losses += 1;
        if let Some(table) = self.before.len().checked_sub(commits).and_then(|index| self.before.get(index)) {
            self.table = table.clone();
        }
        self.before.clear();
    }
}

impl Table {
    pub(super) fn end(&mut self, number: Number) {
        if self.items.remove(&number) {
            self.ended.insert(number);
        }
    }
}
