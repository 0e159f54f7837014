//! A table with the home of its sessions.

use std::sync::Arc;

use super::{HOME, acquire, at, close, join, replayed};
use crate::client::Absence;
use crate::command::{Command, Outcome, Request};
use crate::end::EndReason;
use crate::event::{Event, Recorded};
use crate::group::{Group, GroupOutcome};
use crate::home::{Home, Tick};
use crate::model::{Claim, Revision};
use crate::rejection::Rejection;
use crate::table::Table;

/// A table whose decisions are committed at once, the home of its sessions at [`HOME`], and a clock that tests move.
pub struct Lab {
    /// The table.
    pub table: Table,
    /// The home, which observes every event unless stated otherwise.
    pub home: Home,
    /// The events so far.
    pub events: Vec<Recorded>,
    /// The current time.
    pub now: Tick,
}

impl Default for Lab {
    fn default() -> Self {
        Self { table: Table::default(), home: Home::new(HOME, at(5)), events: Vec::new(), now: Tick::ZERO }
    }
}

impl Lab {
    /// Moves the clock to this many seconds after the start.
    pub fn at(&mut self, seconds: u64) -> &mut Self {
        self.now = at(seconds);
        self
    }

    /// Executes a request. A rejected one must change nothing.
    pub fn decide(&mut self, request: impl Into<Request>) -> Result<Outcome, Rejection> {
        let before = self.events.len();
        let outcome = self.table.decide(request, &mut self.events);
        self.commit(before);
        assert!(outcome.is_ok() || self.events.len() == before, "a rejected request has an effect: {outcome:?}");
        outcome
    }

    /// Commits the events from this index on. The home observes each with the table after all of them.
    fn commit(&mut self, begin: usize) {
        self.table.commit();
        for recorded in &self.events[begin..] {
            self.home.observe(recorded, &self.table, self.now);
        }
    }

    /// Executes requests that must be accepted in one batch.
    pub fn accept_batch(&mut self, requests: impl IntoIterator<Item = Command>) {
        let begin = self.events.len();
        for request in requests {
            self.table.decide(request, &mut self.events).expect("accepted");
        }
        self.commit(begin);
    }

    /// Executes a request that must be accepted.
    pub fn accept(&mut self, request: impl Into<Request>) -> Outcome {
        self.decide(request).expect("accepted")
    }

    /// Executes a request that must be rejected.
    pub fn reject(&mut self, request: impl Into<Request>) -> Rejection {
        self.decide(request).expect_err("rejected")
    }

    /// Executes a request that must be accepted and change nothing.
    pub fn accept_without_effect(&mut self, request: impl Into<Request>) -> Outcome {
        let before = self.events.len();
        let outcome = self.accept(request);
        assert_eq!(self.events[before..], [], "it has an effect");
        outcome
    }

    /// Executes a command of a client that must be accepted, and returns what the client does not have then.
    pub fn reconcile(&mut self, request: impl Into<Request>) -> Vec<(u64, Absence)> {
        match self.accept(request) {
            Outcome::Reconciled { absent, .. } => absent,
            other => panic!("not reconciled: {other:?}"),
        }
    }

    /// Executes a request that must be accepted. The home learns of it only when it rebuilds from the whole table.
    pub fn accept_unobserved(&mut self, request: impl Into<Request>) {
        self.table.decide(request, &mut self.events).expect("accepted");
        self.table.commit();
    }

    /// Requests locks that must be granted at once.
    pub fn grant(&mut self, request: impl Into<Request>) -> Claim {
        match self.accept(request) {
            Outcome::Held { claim, .. } => claim,
            other => panic!("not granted: {other:?}"),
        }
    }

    /// Requests locks that must not be free, and waits for them.
    pub fn queue(&mut self, request: impl Into<Request>) -> Claim {
        match self.accept(request) {
            Outcome::Waiting { claim, .. } => claim,
            other => panic!("not queued: {other:?}"),
        }
    }

    /// Requests locks, which are granted at once or waited for.
    pub fn claim(&mut self, request: impl Into<Request>) -> Claim {
        match self.accept(request) {
            Outcome::Held { claim, .. } | Outcome::Waiting { claim, .. } => claim,
            other => panic!("neither granted nor queued: {other:?}"),
        }
    }

    /// Acquires a free lock, and returns the token.
    pub fn hold(&mut self, session: &str, name: &str) -> Revision {
        self.grant(acquire(session, name)).token().expect("held")
    }

    /// Waits for a lock that is not free, and returns the claim's id.
    pub fn wait(&mut self, session: &str, name: &str) -> Revision {
        self.queue(acquire(session, name)).id
    }

    /// Closes a session.
    pub fn close(&mut self, session: &str) {
        assert_eq!(self.accept(close(session)), Outcome::Done);
    }

    /// Joins a group, and returns the member's number.
    pub fn join(&mut self, session: &str, group: &str) -> Revision {
        match self.accept(join(session, group)) {
            Outcome::Group(GroupOutcome::Joined { member, .. }) => member,
            other => panic!("not joined: {other:?}"),
        }
    }

    /// A group, which must exist.
    #[must_use]
    pub fn group(&self, name: &str) -> Arc<Group> {
        self.table.group(name).expect("a group").clone()
    }

    /// The first holder of a lock.
    #[must_use]
    pub fn holder(&self, name: &str) -> Option<&Claim> {
        self.table.claim(*self.table.lock(name)?.holders().first()?)
    }

    /// The last event.
    #[must_use]
    pub fn last(&self) -> &Event {
        &self.events.last().expect("an event").event
    }

    /// Simulates a database that has lost history, and returns the revision from which it goes on.
    pub fn lose(&mut self) -> Revision {
        let after = self.table.revision();
        let lost = Recorded { revision: Revision(after.0 + 1_000), event: Event::HistoryLost { after } };
        self.table.apply(&lost);
        self.home.observe(&lost, &self.table, self.now);
        let revision = lost.revision;
        self.events.push(lost);
        revision
    }

    /// Executes the commands that are due, and returns them.
    pub fn run_due(&mut self) -> Vec<Command> {
        let due = self.home.due(self.now);
        for command in &due {
            self.accept(command.clone());
        }
        due
    }

    /// Executes the commands that are due, and returns the sessions that end, with the reasons.
    pub fn end(&mut self) -> Vec<(String, EndReason)> {
        let ended = |command| match command {
            Command::EndSession { session, reason, .. } => Some((session.to_string(), reason)),
            _ => None,
        };
        self.run_due().into_iter().filter_map(ended).collect()
    }

    /// Executes the commands that are due, and returns the sessions that end, all of which must have expired.
    pub fn expire(&mut self) -> Vec<String> {
        let ended = self.end();
        assert!(ended.iter().all(|(_, reason)| *reason == EndReason::Expired), "{ended:?}");
        ended.into_iter().map(|(session, _)| session).collect()
    }

    /// The table replayed from the events, as at another server, which must equal this one.
    #[must_use]
    pub fn replayed(&self) -> Table {
        let replayed = replayed(&self.events);
        assert_eq!(replayed, self.table, "replaying the events gives another table");
        replayed
    }
}
