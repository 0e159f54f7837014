//! Models one run of a server: its lease, its home's timers, and its sequencer's replica.

use crate::flaw::Flaw;
use crate::limits::Limits;
use crate::store::Batch;
use crate::table::{Client, Command, Node, Revision, Table};

/// A running server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Instance {
    /// Its id.
    pub node: Node,
    /// Its replica. `server/src/sequencer/replica.rs`.
    pub table: Table,
    /// The highest revision that it has seen.
    pub seen: Revision,
    /// Remaining lease. `server/src/cluster/lease.rs`.
    pub lease: u8,
    /// Time since a heartbeat in transit was sent. `server/src/node/heartbeat.rs`.
    pub heartbeat: Option<u8>,
    /// Whether it has sent a heartbeat in this tick.
    pub has_sent_heartbeat: bool,
    /// Its observations of the other servers' heartbeats.
    pub others: Vec<Seen>,
    /// The sessions whose home is here. `server/core/src/home.rs`.
    pub timers: Vec<Option<SessionTimer>>,
    /// The append of its sequencer. `server/src/sequencer/batch.rs`.
    pub job: Option<Job>,
    /// The number of its last batch.
    pub number: u8,
    /// Ticks by which its clock has run ahead.
    pub ahead: u8,
}

/// Another server's heartbeat, and how long it has been observed unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct Seen {
    pub node: Node,
    pub heartbeat: u8,
    pub age: u8,
}

/// A session in its home's memory. `server/core/src/home/session_timer.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionTimer {
    /// Revision at which it was opened.
    pub opened: Revision,
    /// Remaining TTL, on the service clock.
    pub left: u8,
    /// Whether its TTL has elapsed. It cannot be renewed any more.
    pub over: bool,
}

/// A command whose events are being appended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Job {
    /// The command.
    pub command: Command,
    /// Its events.
    pub batch: Batch,
    /// The client that waits for the reply. `None` for a command that the server issued itself.
    pub caller: Option<Client>,
    /// Whether an earlier attempt may have been committed.
    pub unknown: bool,
    /// Whether the append was sent to the database, as far as the server knows.
    pub sent: bool,
}

impl Instance {
    /// Starts a server from the state of the store.
    #[must_use]
    pub fn new(node: Node, table: Table, limits: &Limits) -> Self {
        let timers = vec![None; table.sessions.len()];
        let seen = table.revision;
        Self {
            node,
            table,
            seen,
            lease: limits.lease_validity(),
            heartbeat: None,
            has_sent_heartbeat: true,
            others: Vec::new(),
            timers,
            job: None,
            number: 0,
            ahead: 0,
        }
    }

    /// Advances its own clock by a tick.
    pub fn tick(&mut self, limits: &Limits) {
        let serves = self.lease > 0;
        self.lease = self.lease.saturating_sub(1);
        self.has_sent_heartbeat = false;
        if let Some(age) = &mut self.heartbeat {
            *age += 1;
        }
        for seen in &mut self.others {
            seen.age = (seen.age + 1).min(limits.dead_after());
        }
        // The service clock stops while the server has no lease.
        if serves || limits.has(Flaw::AgesWithoutLease) {
            for timer in self.timers.iter_mut().flatten() {
                timer.left = timer.left.saturating_sub(1);
            }
        }
    }

    /// The session of a client, if its home is here.
    pub fn timer(&mut self, client: Client) -> Option<&mut SessionTimer> {
        self.timers[usize::from(client)].as_mut()
    }

    /// Gives every session a full TTL, because none could be renewed for a while. Sessions whose TTL had elapsed before
    /// are excluded: their end may be in progress. `Home::refresh`.
    pub fn refresh(&mut self, limits: &Limits) {
        for timer in self.timers.iter_mut().flatten() {
            timer.left = limits.ttl;
            timer.over &= !limits.has(Flaw::FreshTtlRevives);
        }
    }

    /// Applies a committed batch. `Replica::committed`, `Home::observe`.
    pub fn take_over(&mut self, batch: &Batch, limits: &Limits) {
        batch.events.iter().for_each(|recorded| self.table.apply(recorded));
        self.seen = self.seen.max(self.table.revision);
        self.rebuild(limits);
    }

    /// Keeps the sessions whose home is here, new ones with a full TTL, and drops the rest. `Home::rebuild`.
    pub fn rebuild(&mut self, limits: &Limits) {
        let left = if limits.has(Flaw::NoFreshTtl) { 0 } else { limits.ttl };
        for (timer, session) in self.timers.iter_mut().zip(&self.table.sessions) {
            let session = session.filter(|session| session.home == self.node);
            *timer = session.map(|session| match *timer {
                Some(timer) if timer.opened == session.opened => timer,
                _ => SessionTimer { opened: session.opened, left, over: false },
            });
        }
    }
}
