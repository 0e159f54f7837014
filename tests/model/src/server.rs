//! One life of a server: its lease, its home's timers, and its sequencer's replica.

use crate::flaw::Flaw;
use crate::limits::Limits;
use crate::store::Batch;
use crate::table::{Client, Command, Node, Revision, Table};

/// A server that runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Life {
    /// Its id.
    pub node: Node,
    /// Its replica. `server/src/sequencer/replica.rs`.
    pub table: Table,
    /// The highest revision that it has seen.
    pub seen: Revision,
    /// How long its lease holds on. `server/src/cluster/lease.rs`.
    pub lease: u8,
    /// A heartbeat that is on its way, and how long ago it was sent. `server/src/node/heartbeat.rs`.
    pub heartbeat: Option<u8>,
    /// Whether it has sent a heartbeat in this tick.
    pub has_sent_heartbeat: bool,
    /// What it has seen of the others' heartbeats.
    pub others: Vec<Seen>,
    /// The sessions that have their home here. `server/core/src/home.rs`.
    pub kept: Vec<Option<Kept>>,
    /// What its sequencer is appending. `server/src/sequencer/batch.rs`.
    pub job: Option<Job>,
    /// The number of its last batch.
    pub number: u8,
    /// How far its clock has run ahead.
    pub ahead: u8,
}

/// Another server's heartbeat, and for how long it has been seen unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct Seen {
    pub node: Node,
    pub heartbeat: u8,
    pub age: u8,
}

/// A session as its home keeps it. `server/core/src/home/kept.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kept {
    /// The revision at which it was opened.
    pub opened: Revision,
    /// How long it lives on, on the service clock.
    pub left: u8,
    /// Whether its time was up: nothing renews it.
    pub over: bool,
}

/// A command whose events are being appended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Job {
    /// The command.
    pub command: Command,
    /// What it causes.
    pub batch: Batch,
    /// The client that waits for the answer. None: it was due by itself.
    pub asker: Option<Client>,
    /// Whether it may have been committed by an earlier try.
    pub unknown: bool,
    /// Whether the database has it, as far as is known here.
    pub sent: bool,
}

impl Life {
    /// A life that begins with what the store has.
    #[must_use]
    pub fn new(node: Node, table: Table, limits: &Limits) -> Self {
        let kept = vec![None; table.sessions.len()];
        let seen = table.revision;
        Self {
            node,
            table,
            seen,
            lease: limits.lease_validity(),
            heartbeat: None,
            has_sent_heartbeat: true,
            others: Vec::new(),
            kept,
            job: None,
            number: 0,
            ahead: 0,
        }
    }

    /// Its own clock moves on by a tick.
    pub fn tick(&mut self, limits: &Limits) {
        let serves = self.lease > 0;
        self.lease = self.lease.saturating_sub(1);
        self.has_sent_heartbeat = false;
        if let Some(age) = &mut self.heartbeat {
            *age += 1;
        }
        for seen in &mut self.others {
            seen.age = (seen.age + 1).min(limits.patience());
        }
        // The service clock stands still without the lease.
        if serves || limits.has(Flaw::AgesWithoutLease) {
            for kept in self.kept.iter_mut().flatten() {
                kept.left = kept.left.saturating_sub(1);
            }
        }
    }

    /// The session of a client, if it is kept here.
    pub fn kept(&mut self, client: Client) -> Option<&mut Kept> {
        self.kept[usize::from(client)].as_mut()
    }

    /// Every session lives for a full TTL from now: none could be renewed for a while. But for those whose time was up before:
    /// their end may be under way. `Home::refresh`.
    pub fn refresh(&mut self, limits: &Limits) {
        for kept in self.kept.iter_mut().flatten() {
            kept.left = limits.ttl;
            kept.over &= !limits.has(Flaw::FreshTtlRevives);
        }
    }

    /// Takes a committed batch over. `Replica::took`, `Home::observe`.
    pub fn take_over(&mut self, batch: &Batch, limits: &Limits) {
        batch.events.iter().for_each(|recorded| self.table.apply(recorded));
        self.seen = self.seen.max(self.table.revision);
        self.rebuild(limits);
    }

    /// Keeps the sessions that have their home here, with a fresh TTL what was not kept before. Forgets the rest.
    /// `Home::rebuild`.
    pub fn rebuild(&mut self, limits: &Limits) {
        let left = if limits.has(Flaw::NoFreshTtl) { 0 } else { limits.ttl };
        for (kept, session) in self.kept.iter_mut().zip(&self.table.sessions) {
            let session = session.filter(|session| session.home == self.node);
            *kept = session.map(|session| match *kept {
                Some(kept) if kept.opened == session.opened => kept,
                _ => Kept { opened: session.opened, left, over: false },
            });
        }
    }
}
