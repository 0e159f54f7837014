//! The journal: how to undo decisions that were not committed.

use std::sync::Arc;

use crate::client::Client;
use crate::group::Group;
use crate::model::{Claim, LockSettings, Revision, ServerId, Session, SessionSpec};
use crate::names::Text;
use crate::table::Table;
use crate::table::decide::Events;

/// How to undo one change.
#[derive(Debug)]
pub(super) enum Undo {
    /// Restore this revision.
    Revision(Revision),
    /// Restore the epoch and the home of the client, or remove it.
    ClientConnected { client: Text, before: Option<(u64, ServerId)> },
    /// Restore this client.
    ClientEnded(Client),
    /// Restore the highest number that the client has used.
    ClientUsed { client: Text, last: u64 },
    /// Remove the session of this id.
    SessionInserted(Text),
    /// Restore this session.
    SessionRemoved(Session),
    /// Restore these parameters of the session.
    SessionAltered(SessionSpec),
    /// Remove this claim.
    ClaimEntered(Revision),
    /// Restore this claim.
    ClaimLeft(Claim),
    /// Restore these settings.
    Configured { name: Text, before: LockSettings },
    /// Restore the group of this name.
    Group { name: Text, group: Option<Arc<Group>> },
    /// Restore the membership of the session.
    Membership { session: Text, group: Text, number: Option<Revision> },
    /// Restore whether the session's client has this membership by that number.
    MembershipItem { session: Text, group: Text, number: u64, had: bool },
}

/// A point within a decision, to which the rest of it can be undone.
pub(super) struct Mark {
    revision: Revision,
    journaled: usize,
    decided: usize,
}

impl Table {
    /// Makes everything that was decided since the last call final.
    pub fn commit(&mut self) {
        self.journal.clear();
    }

    /// Undoes everything that was decided since the last [`Self::commit`].
    pub fn undo(&mut self) {
        self.undo_after(0);
    }

    /// The current point of a decision.
    pub(super) fn mark(&self, decided: &Events) -> Mark {
        Mark { revision: self.revision, journaled: self.journal.len(), decided: decided.len() }
    }

    /// Undoes the part of a decision after a mark.
    pub(super) fn undo_to(&mut self, mark: &Mark, decided: &mut Events) {
        self.undo_after(mark.journaled);
        self.revision = mark.revision;
        decided.truncate(mark.decided);
    }

    /// Undoes everything but the first `kept` changes.
    fn undo_after(&mut self, kept: usize) {
        self.journaling = false;
        while self.journal.len() > kept
            && let Some(undo) = self.journal.pop()
        {
            match undo {
                Undo::Revision(revision) => self.revision = revision,
                Undo::ClientConnected { client, before } => self.undo_client(&client, before),
                Undo::ClientEnded(client) => self.insert_client(client),
                Undo::ClientUsed { client, last } => self.undo_last(&client, last),
                Undo::SessionInserted(id) => self.dismiss(&id),
                Undo::SessionRemoved(session) => self.admit(session),
                Undo::SessionAltered(spec) => self.alter_session(&spec.id.clone(), |altered| *altered = spec),
                Undo::ClaimEntered(id) => self.leave(id),
                Undo::ClaimLeft(claim) => self.enter(claim),
                Undo::Configured { name, before } => self.set(&name, before),
                Undo::Group { name, group } => self.put_group(&name, group),
                Undo::Membership { session, group, number } => self.set_membership(&session, &group, number),
                Undo::MembershipItem { session, group, number, had } => {
                    self.set_membership_item(&session, &group, number, had);
                }
            }
        }
    }

    /// Records how to undo a change of a decision. Changes by committed events are final.
    pub(super) fn note(&mut self, undo: Undo) {
        if self.journaling {
            self.journal.push(undo);
        }
    }
}
