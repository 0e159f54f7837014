//! Tampers with the log: alters the events of a batch before they are appended, and adds the events of commands that no
//! server has issued. Servers that read the log then act on a wrong state.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::{
    Acquire, AskedMode, Change, ClaimSpec, Command, Declaration, DeclaredClaim, EndReason, Event, Mode, Recorded,
    Revision, ServerId, Session, Table, Text, no_labels,
};
use tenure_server::store::Batch;

use crate::defect::Defect;

/// Follows the log with a table.
#[derive(Default)]
pub struct Follower {
    table: Table,
    /// Number of applied batches, and the last of them.
    applied: usize,
    last: Option<Arc<Batch>>,
}

impl Follower {
    /// The table at this revision, if a batch of the log ends there.
    pub fn follow(&mut self, log: &[Arc<Batch>], revision: Revision) -> Option<&mut Table> {
        let applied = self.applied.checked_sub(1).and_then(|last| log.get(last));
        let continues = applied.zip(self.last.as_ref()).is_some_and(|(applied, last)| Arc::ptr_eq(applied, last));
        if !continues || self.table.revision() > revision {
            *self = Self::default();
        }
        for batch in log[self.applied..].iter().take_while(|batch| batch.revision() <= revision) {
            batch.events.iter().for_each(|recorded| self.table.apply(recorded));
            self.applied += 1;
            self.last = Some(batch.clone());
        }
        (self.table.revision() == revision).then_some(&mut self.table)
    }
}

/// An event without effect, which replaces one that must be missing.
fn without_effect() -> Event {
    Event::ForwardsVoided { by: ServerId(0) }
}

/// The batch as it is appended instead, on this table; `None` if it stays as it is.
#[must_use]
pub fn alter(defect: Defect, table: &Table, batch: &Batch) -> Option<Batch> {
    let alter =
        |recorded: &Recorded| Some(Recorded { event: replacement(defect, table, batch, recorded)?, ..*recorded });
    let altered: Vec<Option<Recorded>> = batch.events.iter().map(alter).collect();
    altered.iter().any(Option::is_some).then(|| {
        let events = altered.into_iter().zip(&batch.events);
        let events = events.map(|(altered, original)| altered.unwrap_or_else(|| original.clone())).collect();
        Batch { events, ..batch.clone() }
    })
}

/// The event that is appended instead of this one.
fn replacement(defect: Defect, table: &Table, batch: &Batch, recorded: &Recorded) -> Option<Event> {
    let ends = |opened: Revision| {
        let is_end = |event: &Event| matches!(event, Event::SessionEnded { opened: ended, .. } if *ended == opened);
        batch.events.iter().any(|recorded| is_end(&recorded.event))
    };
    match (defect, &recorded.event) {
        (
            Defect::GrantBesideHolder | Defect::SharedBesideHolder | Defect::PermitsAboveLimit,
            Event::ClaimQueued(spec),
        ) => {
            let applies = match spec.mode {
                Mode::Exclusive => defect == Defect::GrantBesideHolder,
                Mode::Shared => defect == Defect::SharedBesideHolder,
                Mode::Permits { .. } => defect == Defect::PermitsAboveLimit,
            };
            applies.then(|| Event::ClaimGranted { claim: recorded.revision, spec: spec.clone() })
        }
        (Defect::LastWaiterFirst, Event::ClaimGranted { claim, spec }) => {
            let first = table.claim(*claim)?;
            let is_later = |other: &&Revision| {
                let Some(other) = table.claim(**other) else { return false };
                let stays = !batch.events.iter().any(|recorded| is_about(&recorded.event, other.id));
                stays && other.rank() > first.rank() && other.spec.names == spec.names
            };
            let mut waiters = table.lock(spec.names.first()?)?.waiters().iter().map(|rank| &rank.1);
            let last = table.claim(*waiters.rfind(is_later)?)?;
            Some(Event::ClaimGranted { claim: last.id, spec: last.spec.clone() })
        }
        (Defect::WaiterOutlivesSession, Event::ClaimEnded { token: None, spec, .. })
        | (Defect::HolderOutlivesSession, Event::ClaimEnded { token: Some(_), spec, .. })
        | (Defect::HolderOutlivesSession, Event::ClaimLingering { spec, .. }) => ends(spec.opened).then(without_effect),
        // The lock stays held, so no waiter is granted it.
        (Defect::HolderOutlivesSession, Event::ClaimGranted { claim, .. }) => {
            let has_end = batch.events.iter().any(|other| matches!(other.event, Event::SessionEnded { .. }));
            (has_end && *claim != recorded.revision).then(without_effect)
        }
        (Defect::WaitEndsAtHome, Event::ClaimEnded { claim, token: None, reason: EndReason::Released, .. }) => {
            let found = table.claim(*claim)?;
            let home = table.session(&found.spec.session)?.spec.home;
            let is_cancelled = batch.events.iter().any(|other| matches!(other.event, Event::AcquireCancelled { .. }));
            (found.spec.waiting_server.is_some_and(|at| at != home) && !is_cancelled).then(without_effect)
        }
        _ => None,
    }
}

fn is_about(event: &Event, id: Revision) -> bool {
    matches!(event, Event::ClaimGranted { claim, .. } | Event::ClaimEnded { claim, .. } if *claim == id)
}

/// Replaces declarations of a loss of history by events without effect.
pub fn hide_loss(batch: &mut Arc<Batch>) {
    if batch.declares_loss() {
        for recorded in &mut Arc::make_mut(batch).events {
            recorded.event = without_effect();
        }
    }
}

/// The commands that are carried out after this batch. `table` is the state before it.
#[must_use]
pub fn commands(defect: Defect, table: &Table, batch: &Batch) -> Vec<Command> {
    if defect == Defect::NoFreshTtlAfterLoss && batch.declares_loss() {
        return table.sessions_after(Revision(0)).map(end).collect();
    }
    if defect == Defect::CancelledAtHome {
        return cancels_at_home(table, batch.server).collect();
    }
    batch.events.iter().flat_map(|recorded| commands_after(defect, table, batch, recorded)).collect()
}

/// The commands that end these sessions.
#[must_use]
pub fn expire(table: &Table, sessions: &[Revision]) -> Vec<Command> {
    sessions.iter().filter_map(|opened| table.session_opened_at(*opened)).map(end).collect()
}

/// The events of commands, decided on this table, which is left as it was.
#[must_use]
pub fn decide(table: &mut Table, commands: Vec<Command>) -> Vec<Recorded> {
    let mut events = Vec::new();
    for command in commands {
        // A command that is rejected has no events.
        let _ = table.decide(command, &mut events);
    }
    table.undo();
    events
}

fn end(session: &Session) -> Command {
    end_at(session, session.spec.home)
}

fn end_at(session: &Session, home: ServerId) -> Command {
    let (session, opened, reason) = (session.spec.id.clone(), session.opened, EndReason::Expired);
    Command::EndSession { session, opened, home, reason }
}

fn cancels_at_home(table: &Table, home: ServerId) -> impl Iterator<Item = Command> {
    let at_home = move |session: &Text| table.session(session).is_some_and(|session| session.spec.home == home);
    let awaited = table.claims().filter(move |claim| !claim.lingers() && at_home(&claim.spec.session));
    let at_others =
        awaited.filter_map(move |claim| Some((claim.id, claim.spec.waiting_server.filter(|at| *at != home)?)));
    at_others.map(|(claim, home)| Command::Abandon { claim, home })
}

/// The commands that follow on one event of a batch.
fn commands_after(defect: Defect, table: &Table, batch: &Batch, recorded: &Recorded) -> Vec<Command> {
    match (defect, &recorded.event) {
        (Defect::NoFreshTtl | Defect::ExpiryAfterMove, Event::SessionMoved { session, opened, home, .. }) => {
            let applies = |found: &&Session| {
                let moves = found.spec.home != *home;
                found.opened == *opened && moves == (defect == Defect::NoFreshTtl)
            };
            table.session(session).filter(applies).map(|found| end_at(found, *home)).into_iter().collect()
        }
        (Defect::NoFreshTtl | Defect::ExpiryAfterMove, Event::ClientConnected { client, home, .. }) => {
            let Some(found) = table.client(client) else { return Vec::new() };
            let applies = (found.home != *home) == (defect == Defect::NoFreshTtl);
            let sessions = found.items.sessions().filter_map(|session| table.session(session)).filter(|_| applies);
            sessions.map(|session| end_at(session, *home)).collect()
        }
        (Defect::NoFreshTtl, Event::ServerAdopted { dead, by }) => {
            let orphans = table.sessions_after(Revision(0)).filter(|session| session.spec.home == *dead);
            orphans.map(|session| end_at(session, *by)).collect()
        }
        (Defect::CancelOvertaken, Event::AcquireCancelled { session, names }) => {
            let Some(found) = table.session(session) else { return Vec::new() };
            let acquire = Command::Acquire(Acquire {
                session: session.clone(),
                opening: None,
                home: found.spec.home,
                received: batch.revision(),
                opened: Some(found.opened),
                names: names.clone(),
                mode: AskedMode::Exclusive,
                queue: true,
                priority: 0,
                metadata: no_labels(),
                min_hold: Duration::ZERO,
            });
            vec![acquire]
        }
        (Defect::ReleaseOfAnyHold, Event::ClaimGranted { claim, spec }) if *claim != recorded.revision => {
            let loses = |event: &Event| match event {
                Event::ClaimEnded { token: Some(_), reason, spec: lost, .. } => {
                    *reason != EndReason::Released && lost.names.iter().any(|name| spec.names.contains(name))
                }
                _ => false,
            };
            let name = spec.names.iter().next().filter(|_| batch.events.iter().any(|other| loses(&other.event)));
            let release = |name: &Text| Command::Release {
                session: spec.session.clone(),
                name: name.clone(),
                token: recorded.revision,
            };
            name.map(release).into_iter().collect()
        }
        (Defect::AbandonForgotten, Event::ClaimEnded { token: None, reason: EndReason::Disconnected, spec, .. }) => {
            wait_again(table, spec).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Makes the claim of a client again, by the next number. Its session has ended if this is rejected.
fn wait_again(table: &Table, spec: &ClaimSpec) -> Option<Command> {
    let session = &table.session(&spec.session)?.spec;
    let client = table.client(session.client.as_ref()?)?;
    let claim = DeclaredClaim {
        number: client.last + 1,
        names: spec.names.clone(),
        mode: AskedMode::Exclusive,
        queue: true,
        priority: spec.priority,
        metadata: no_labels(),
        min_hold: spec.min_hold.into(),
    };
    let declaration =
        Declaration { session: session.declared, opening: None, claims: vec![claim], memberships: Vec::new() };
    Some(Command::Change {
        client: client.id.clone(),
        epoch: client.epoch,
        home: client.home,
        connected: Revision(u64::MAX),
        changes: vec![Change::Declare(declaration)],
    })
}
