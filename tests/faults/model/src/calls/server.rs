//! Models a server's in-memory state about its calls, and how commits change it: `server/src/sequencer/local.rs`,
//! `server/src/sequencer/waiters.rs`, `server/core/src/home.rs`.

use super::flaw::Flaw;
use super::limits::Limits;
use super::table::{Claim, Event, Id, Reason, Server, Table};
use super::world::{Answer, Call, Instance, Notice, Stage, World};

impl World {
    pub(super) fn live(&mut self, server: Server) -> Option<&mut Instance> {
        self.servers[usize::from(server)].as_mut()
    }

    fn calls_at(&mut self, server: Server) -> impl Iterator<Item = &mut Call> {
        self.calls.iter_mut().filter(move |call| call.server == server)
    }

    fn has_waiting_call(&self, server: Server, id: Id) -> bool {
        self.calls.iter().any(|call| call.server == server && call.waits_for(id))
    }

    /// Whether a call is registered for a claim. `WaiterRegistry::contains`.
    pub(super) fn has_caller(&self, server: Server, id: Id) -> bool {
        self.calls.iter().any(|call| call.server == server && (call.waits_for(id) || call.has_pending_grant(id)))
    }

    pub(super) fn is_abandoned(&self, server: Server, id: Id) -> bool {
        self.instance(server).is_some_and(|instance| instance.abandoned.contains(&id))
    }

    /// `Home::register_caller`.
    pub(super) fn register_caller(&mut self, server: Server, id: Id) {
        if let Some(instance) = self.live(server) {
            instance.abandoned.retain(|other| *other != id);
        }
    }

    /// `Home::mark_abandoned`.
    fn mark_abandoned(&mut self, server: Server, id: Id) {
        if let Some(instance) = self.live(server).filter(|instance| !instance.abandoned.contains(&id)) {
            instance.abandoned.push(id);
        }
    }

    /// Handles the end of a call that was already removed. `PendingGrant::drop`.
    pub(super) fn dropped(&mut self, call: Call) {
        let (Stage::Waiting(id)
        | Stage::TimedOut { id, .. }
        | Stage::Granted(Claim { id, .. }, _)
        | Stage::Acknowledging(id, _)) = call.stage
        else {
            return;
        };
        let was_last = call.waits_for(id) && !self.has_waiting_call(call.server, id);
        let others = self.calls.iter().any(|other| other.server == call.server && other.has_pending_grant(id));
        if was_last || call.has_pending_grant(id) && !others {
            self.mark_abandoned(call.server, id);
        }
    }

    /// Marks a grant as returned or acknowledged. `WaiterRegistry::acknowledge`.
    pub(super) fn acknowledge_grant(&mut self, server: Server, id: Id) {
        for call in self.calls_at(server).filter(|call| call.has_pending_grant(id)) {
            match &mut call.stage {
                Stage::Granted(_, is_pending)
                | Stage::Acknowledging(_, is_pending)
                | Stage::TimedOut { notice: Some(Notice::Granted(is_pending)), .. } => *is_pending = false,
                _ => {}
            }
        }
    }

    /// `WaiterRegistry::grant`.
    fn granted_to(&mut self, server: Server, claim: Claim, is_pending: bool) {
        for call in self.calls_at(server).filter(|call| call.waits_for(claim.id)) {
            match &mut call.stage {
                Stage::TimedOut { notice, .. } => *notice = Some(Notice::Granted(is_pending)),
                stage => *stage = Stage::Granted(claim, is_pending),
            }
        }
    }

    /// Notifies the waiting calls. Those after a call whose timeout ended the claim send their Acquire again.
    /// `WaiterRegistry::end`.
    fn ended(&mut self, server: Server, id: Id, reason: Reason) {
        self.acknowledge_grant(server, id);
        let mut timed_out = false;
        for call in self.calls_at(server).filter(|call| call.waits_for(id)) {
            match &mut call.stage {
                Stage::TimedOut { notice, .. } => {
                    *notice = Some(if timed_out { Notice::Again } else { Notice::Ended(reason) });
                    timed_out = true;
                }
                stage if timed_out => *stage = Stage::Received,
                stage => *stage = Stage::Answered(Answer::Ended),
            }
        }
    }

    /// The claim is now awaited at another server, or nowhere. `LocalState::notify`, `Home::observe`.
    fn awaited(&mut self, server: Server, claim: Claim, limits: &Limits) {
        let sees_again = self.instance(server).is_none_or(|instance| instance.is_behind);
        if claim.at == Some(server) {
            self.claim_arrives(server, claim, limits);
        } else if !sees_again || limits.has(Flaw::MovesSeenAgain) {
            self.acknowledge_grant(server, claim.id);
            self.register_caller(server, claim.id);
        }
    }

    /// The claim is now awaited here, by a call that is not registered yet because another server decided it.
    fn claim_arrives(&mut self, server: Server, claim: Claim, limits: &Limits) {
        let is_here = claim.at == Some(server) && self.instance(server).is_some_and(|instance| !instance.is_behind);
        if is_here && !limits.has(Flaw::ForwardedGrantIsNew) && !self.has_caller(server, claim.id) {
            self.mark_abandoned(server, claim.id);
        }
    }

    /// A server follows the log by one batch.
    pub(super) fn follow(&mut self, server: Server, limits: &Limits) {
        let Some(at) = self.instance(server).map(|instance| instance.at) else { return };
        let Some(events) = self.tail.get(at).cloned() else { return };
        let homes = self.table_at(at, limits).homes;
        let table = self.table_at(at + 1, limits);
        for event in events {
            self.observe(server, event, &homes, &table, limits);
        }
        if let Some(instance) = self.live(server) {
            instance.at = at + 1;
        }
    }

    fn observe(&mut self, server: Server, event: Event, homes: &[Option<Server>], table: &Table, limits: &Limits) {
        match event {
            Event::Queued(claim) => self.claim_arrives(server, claim, limits),
            Event::Granted(claim) => {
                self.granted_to(server, claim, true);
                self.claim_arrives(server, claim, limits);
            }
            Event::Ended(id, reason) => {
                self.ended(server, id, reason);
                self.register_caller(server, id);
            }
            Event::Awaited { id, at } => self.awaited(server, Claim { id, at }, limits),
            Event::Moved { client, home } => {
                // Claims that are awaited nowhere follow the home of their session; with a flaw, all claims do.
                let follows = |claim: &Claim| claim.at.is_none() || limits.has(Flaw::CancelledAtHome);
                let Some(claim) = table.of(client).filter(follows) else { return };
                let becomes_home = home == server && homes[usize::from(client)] != Some(server);
                if becomes_home && table.waits(claim.id) {
                    self.mark_abandoned(server, claim.id);
                } else if becomes_home || home != server {
                    self.register_caller(server, claim.id);
                }
            }
            Event::Adopted { by, .. }
                if by == server && self.instance(server).is_some_and(|instance| !instance.is_behind) =>
            {
                self.abandon_waits_without_caller(server, table);
            }
            _ => {}
        }
    }

    /// Marks as abandoned the waits at this server that no call is registered for.
    /// `LocalState::abandon_waits_without_caller`.
    fn abandon_waits_without_caller(&mut self, server: Server, table: &Table) {
        for claim in table.queue.iter().filter(|claim| claim.at == Some(server)) {
            if !self.has_caller(server, claim.id) {
                self.mark_abandoned(server, claim.id);
            }
        }
    }

    /// A server follows the log to its head.
    pub(super) fn catch_up(&mut self, server: Server, limits: &Limits) {
        while self.instance(server).is_some_and(|instance| instance.at < self.tail.len()) {
            self.follow(server, limits);
        }
        self.caught_up(server, limits);
    }

    /// A server reaches the log's head. If it had reloaded its table, it now reconciles its in-memory state.
    /// `LocalState::caught_up`.
    pub(super) fn caught_up(&mut self, server: Server, limits: &Limits) {
        let length = self.tail.len();
        let Some(instance) = self.live(server).filter(|instance| instance.is_behind && instance.at == length) else {
            return;
        };
        instance.is_behind = false;
        let table = self.head.clone();
        self.forget(server, &table, limits);
        self.settle(server, &table, true, limits);
        self.abandon_waits_without_caller(server, &table);
    }

    /// A server reloads its table. `LocalState::reconcile`.
    pub(super) fn reload(&mut self, server: Server, at: usize, limits: &Limits) {
        let table = self.table_at(at, limits);
        let Some(instance) = self.live(server) else { return };
        (instance.at, instance.is_behind) = (at, true);
        if limits.has(Flaw::ForgottenBehind) {
            self.forget(server, &table, limits);
        }
        self.settle(server, &table, limits.has(Flaw::EndedBehind), limits);
        if limits.has(Flaw::JudgedBehind) {
            self.abandon_waits_without_caller(server, &table);
        }
    }

    /// Removes what the table does not contain. `Home::rebuild`, `WaiterRegistry::retain_grants`.
    fn forget(&mut self, server: Server, table: &Table, limits: &Limits) {
        let is_here = |id: &Id| {
            table.claim(*id).is_some_and(|claim| match claim.at {
                Some(at) => at == server,
                None => table.homes[usize::from(id.client)] == Some(server) && limits.has(Flaw::AcknowledgedCancelled),
            })
        };
        if let Some(instance) = self.live(server) {
            instance.abandoned.retain(is_here);
        }
        let keeps_grants = limits.has(Flaw::AcknowledgedCancelled);
        let granted: Vec<Id> = self.calls_at(server).filter_map(|call| call.grant()).collect();
        for id in granted {
            if table.claim(id).is_none_or(|claim| claim.at != Some(server) && !keeps_grants) {
                self.acknowledge_grant(server, id);
            }
        }
    }

    /// Settles waits against a table. If `ends`, claims missing from the table count as ended.
    fn settle(&mut self, server: Server, table: &Table, ends: bool, limits: &Limits) {
        let waited_for: Vec<Id> = self
            .calls_at(server)
            .filter_map(|call| match call.stage {
                Stage::Waiting(id) | Stage::TimedOut { id, notice: None, .. } => Some(id),
                _ => None,
            })
            .collect();
        for id in waited_for {
            match table.claim(id) {
                Some(_) if table.waits(id) => self.register_caller(server, id),
                Some(_) if limits.has(Flaw::GrantMissed) => {}
                Some(claim) => {
                    let is_pending = claim.at == Some(server) || limits.has(Flaw::AcknowledgedCancelled);
                    self.granted_to(server, claim, is_pending);
                }
                None if ends => self.ended(server, id, Reason::Disconnected),
                None => {}
            }
        }
    }
}
