//! Applying events: the only way to change a table.

use std::sync::Arc;

use crate::end::EndReason;
use crate::event::{Event, Recorded};
use crate::group::{GroupChange, Lead};
use crate::model::{Claim, ClaimState, Revision, ServerId, Session, SessionSpec, Transfer};
use crate::names::Text;
use crate::table::journal::Undo;
use crate::table::{Table, count, lingers_at, waits_at};

impl Table {
    /// Applies a committed event. Events are applied in order of revision, without gaps; no decision made here may be
    /// pending.
    pub fn apply(&mut self, recorded: &Recorded) {
        debug_assert!(self.journal.is_empty(), "applying while a decision is pending");
        self.journaling = false;
        self.change(recorded.revision, &recorded.event);
    }

    /// Remembers a past event, from before this table was restored, so that rejections can be explained.
    pub fn recall(&mut self, recorded: &Recorded) {
        self.memory.recalled(recorded.revision);
        self.remember(recorded.revision, &recorded.event);
    }

    /// Applies an event that was just decided, in a way that can be undone.
    pub(super) fn emit(&mut self, event: Event, decided: &mut Vec<Recorded>) -> Revision {
        let revision = self.revision.next();
        self.journaling = true;
        self.change(revision, &event);
        decided.push(Recorded { revision, event });
        revision
    }

    fn change(&mut self, revision: Revision, event: &Event) {
        if self.journal.is_empty() {
            self.note(Undo::Revision(self.revision));
        }
        self.revision = revision;
        self.remember(revision, event);
        match event {
            Event::SessionOpened(spec) => self.admit(Session::new((**spec).clone(), revision)),
            Event::SessionMoved { session, home, ttl, .. } => {
                self.alter_session(session, |spec| (spec.home, spec.ttl) = (*home, *ttl));
            }
            Event::SessionEnded { session, .. } => self.dismiss(session),
            Event::ClientConnected { client, epoch, home, identity } => {
                self.admit_client(client, *epoch, *home, identity.as_ref());
            }
            Event::ClientEnded { client } => self.dismiss_client(client),
            Event::ClaimQueued(spec) => self.enter(Claim::new(revision, spec.clone(), ClaimState::Waiting)),
            Event::ClaimGranted { claim, spec } => {
                if *claim != revision {
                    self.leave(*claim);
                }
                self.enter(Claim::new(*claim, spec.clone(), ClaimState::Held { token: revision }));
            }
            Event::ClaimLingering { claim, token, spec, home, .. } => {
                self.leave(*claim);
                let state = ClaimState::Lingering { token: *token, home: *home };
                self.enter(Claim::new(*claim, spec.clone(), state));
            }
            Event::ClaimEnded { claim, .. } => self.leave(*claim),
            Event::ClaimUpdated { claim, spec, .. } => self.alter(*claim, |found| found.spec = spec.clone()),
            Event::ClaimAwaited { claim, at } => {
                self.alter(*claim, |found| Arc::make_mut(&mut found.spec).waiting_server = *at);
            }
            Event::TransferStarted { claim, to, drain, .. } => {
                let transfer = Some(Box::new(Transfer { to: *to, started: revision, drain: *drain }));
                self.alter(*claim, |found| found.transfer = transfer);
            }
            Event::TransferCancelled { claim, .. } => self.alter(*claim, |found| found.transfer = None),
            Event::ClaimTransferred { from, claim, spec, .. } => {
                self.leave(*from);
                self.leave(*claim);
                self.enter(Claim::new(*claim, spec.clone(), ClaimState::Held { token: revision }));
            }
            Event::LockConfigured { name, settings, .. } => self.set(name, settings.clone()),
            Event::Group { id, group, change } => self.change_group(*id, group, revision, change),
            Event::ServerAdopted { dead, by } => self.adopt(*dead, *by),
            Event::HistoryLost { .. } => self.lose(revision),
            Event::AcquireCancelled { .. } | Event::ForwardsVoided { .. } => {}
        }
    }

    /// In the lost history, others may have led the groups, with higher tokens than the current ones.
    fn lose(&mut self, revision: Revision) {
        self.lost = revision;
        for group in self.groups.values_mut() {
            let lead = group.lead.map(|lead| Lead { token: revision, ..lead });
            Arc::make_mut(group).lead = lead;
        }
    }

    fn alter(&mut self, id: Revision, change: impl FnOnce(&mut Claim)) {
        if let Some(mut claim) = self.claims.get(&id).cloned() {
            change(&mut claim);
            self.leave(id);
            self.enter(claim);
        }
    }

    pub(super) fn alter_session(&mut self, id: &Text, change: impl FnOnce(&mut SessionSpec)) {
        let Some(found) = self.sessions.get_mut(id) else { return };
        let before = found.spec.clone();
        change(&mut found.spec);
        count(&mut self.homes, Some(before.home), Some(found.spec.home));
        self.note(Undo::SessionAltered(before));
    }

    fn adopt(&mut self, dead: ServerId, by: ServerId) {
        let orphans = self.clients.values().filter(|client| client.home == dead);
        let orphans: Vec<Text> = orphans.map(|client| client.id.clone()).collect();
        for orphan in orphans {
            self.note(Undo::ClientConnected { client: orphan.clone(), before: self.connection(&orphan) });
            self.move_client(&orphan, by);
        }
        let orphans = self.sessions_after(Revision(0)).filter(|session| session.spec.home == dead);
        let orphans: Vec<Text> = orphans.map(|session| session.spec.id.clone()).collect();
        for orphan in orphans {
            self.alter_session(&orphan, |spec| spec.home = by);
        }
        let left = |claim: &&Claim| lingers_at(claim, dead) || waits_at(claim) == Some(dead);
        let left: Vec<Revision> = self.claims.values().filter(left).map(|claim| claim.id).collect();
        for claim in left {
            self.alter(claim, |found| match &mut found.state {
                ClaimState::Lingering { home, .. } => *home = by,
                _ => Arc::make_mut(&mut found.spec).waiting_server = Some(by),
            });
        }
    }

    fn remember(&mut self, revision: Revision, event: &Event) {
        match event {
            Event::SessionOpened(spec) => self.memory.session_opened(&spec.id),
            Event::SessionEnded { session, reason, .. } => {
                let number = self.sessions.get(session).map_or(0, |found| found.spec.declared);
                self.remember_item(session, number, *reason);
                self.memory.session_ended(session, *reason, revision);
            }
            Event::ClientEnded { client } => self.memory.client_ended(client, revision),
            Event::AcquireCancelled { session, names } => self.memory.cancelled(session, names, revision),
            Event::ClaimLingering { token, spec, reason, .. } => {
                self.remember_item(&spec.session, spec.declared, *reason);
                self.memory.claim_ended(&spec.session, *token, *reason);
            }
            Event::ClaimEnded { token: None, spec, reason, .. } => {
                self.remember_item(&spec.session, spec.declared, *reason);
            }
            Event::ClaimEnded { claim, token: Some(token), spec, reason, .. } => {
                // The end of lingering adds nothing to the record made when the hold ended.
                let lingers = !spec.min_hold.is_zero() && self.claims.get(claim).is_some_and(Claim::lingers);
                if !lingers {
                    self.remember_item(&spec.session, spec.declared, *reason);
                    self.memory.claim_ended(&spec.session, *token, *reason);
                }
            }
            Event::ClaimTransferred { from, from_token, from_spec, claim, spec, .. } => {
                let ended = Claim::new(*from, from_spec.clone(), ClaimState::Held { token: *from_token });
                let begun = Claim::new(*claim, spec.clone(), ClaimState::Held { token: revision });
                self.memory.handed_over(*from_token, ended, begun);
            }
            Event::Group { group, change: GroupChange::Left { member, session, reason, declared, .. }, .. } => {
                self.remember_item(session, *declared, *reason);
                if *reason == EndReason::Released {
                    self.memory.left(session, group, *member);
                }
            }
            _ => {}
        }
    }
}
