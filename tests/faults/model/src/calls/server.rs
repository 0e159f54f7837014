//! Models a server's in-memory state about its calls, and how commits change it: `server/src/sequencer/desk.rs`,
//! `server/src/sequencer/attendance.rs`, `server/core/src/home.rs`.

use super::flaw::Flaw;
use super::limits::Limits;
use super::table::{Claim, Event, Id, Reason, Server, Table};
use super::world::{Answer, Call, Life, Notice, Stage, World};

impl World {
    pub(super) fn live(&mut self, server: Server) -> Option<&mut Life> {
        self.servers[usize::from(server)].as_mut()
    }

    fn calls_at(&mut self, server: Server) -> impl Iterator<Item = &mut Call> {
        self.calls.iter_mut().filter(move |call| call.server == server)
    }

    fn is_waited_for(&self, server: Server, id: Id) -> bool {
        self.calls.iter().any(|call| call.server == server && call.waits_for(id))
    }

    /// Whether a call attends to a claim. `Callers::attend_to`.
    pub(super) fn is_attended(&self, server: Server, id: Id) -> bool {
        self.calls.iter().any(|call| call.server == server && (call.waits_for(id) || call.receives(id)))
    }

    pub(super) fn is_unattended(&self, server: Server, id: Id) -> bool {
        self.life(server).is_some_and(|life| life.unattended.contains(&id))
    }

    /// `Home::attend`.
    pub(super) fn attend(&mut self, server: Server, id: Id) {
        if let Some(life) = self.live(server) {
            life.unattended.retain(|other| *other != id);
        }
    }

    /// `Home::leave`.
    fn leave(&mut self, server: Server, id: Id) {
        if let Some(life) = self.live(server).filter(|life| !life.unattended.contains(&id)) {
            life.unattended.push(id);
        }
    }

    /// Handles the end of a call that was already removed. `Attendance::drop`.
    pub(super) fn dropped(&mut self, call: Call) {
        let (Stage::Waiting(id)
        | Stage::TimedOut { id, .. }
        | Stage::Granted(Claim { id, .. }, _)
        | Stage::Acknowledging(id, _)) = call.stage
        else {
            return;
        };
        let was_last = call.waits_for(id) && !self.is_waited_for(call.server, id);
        let others = self.calls.iter().any(|other| other.server == call.server && other.receives(id));
        if was_last || call.receives(id) && !others {
            self.leave(call.server, id);
        }
    }

    /// Marks a grant as returned or acknowledged. `Callers::received`.
    pub(super) fn received(&mut self, server: Server, id: Id) {
        for call in self.calls_at(server).filter(|call| call.receives(id)) {
            match &mut call.stage {
                Stage::Granted(_, attends)
                | Stage::Acknowledging(_, attends)
                | Stage::TimedOut { notice: Some(Notice::Granted(attends)), .. } => *attends = false,
                _ => {}
            }
        }
    }

    /// `Callers::granted`.
    fn granted_to(&mut self, server: Server, claim: Claim, attends: bool) {
        for call in self.calls_at(server).filter(|call| call.waits_for(claim.id)) {
            match &mut call.stage {
                Stage::TimedOut { notice, .. } => *notice = Some(Notice::Granted(attends)),
                stage => *stage = Stage::Granted(claim, attends),
            }
        }
    }

    /// Notifies the waiting calls. Those after a call whose timeout ended the claim send their Acquire again.
    /// `Callers::ended`.
    fn ended(&mut self, server: Server, id: Id, reason: Reason) {
        self.received(server, id);
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

    /// The claim is now awaited at another server, or nowhere. `Desk::notify`, `Home::observe`.
    fn awaited_at(&mut self, server: Server, claim: Claim, limits: &Limits) {
        let sees_again = self.life(server).is_none_or(|life| life.is_behind);
        if claim.at == Some(server) {
            self.comes(server, claim, limits);
        } else if !sees_again || limits.has(Flaw::MovesSeenAgain) {
            self.received(server, claim.id);
            self.attend(server, claim.id);
        }
    }

    /// The claim is now awaited here, by a call that does not attend to it yet because another server decided it.
    fn comes(&mut self, server: Server, claim: Claim, limits: &Limits) {
        let is_here = claim.at == Some(server) && self.life(server).is_some_and(|life| !life.is_behind);
        if is_here && !limits.has(Flaw::PassedGrantIsNew) && !self.is_attended(server, claim.id) {
            self.leave(server, claim.id);
        }
    }

    /// A server follows the log by one batch.
    pub(super) fn follow(&mut self, server: Server, limits: &Limits) {
        let Some(at) = self.life(server).map(|life| life.at) else { return };
        let Some(events) = self.tail.get(at).cloned() else { return };
        let homes = self.table_at(at, limits).homes;
        let table = self.table_at(at + 1, limits);
        for event in events {
            self.observe(server, event, &homes, &table, limits);
        }
        if let Some(life) = self.live(server) {
            life.at = at + 1;
        }
    }

    fn observe(&mut self, server: Server, event: Event, homes: &[Option<Server>], table: &Table, limits: &Limits) {
        match event {
            Event::Queued(claim) => self.comes(server, claim, limits),
            Event::Granted(claim) => {
                self.granted_to(server, claim, true);
                self.comes(server, claim, limits);
            }
            Event::Ended(id, reason) => {
                self.ended(server, id, reason);
                self.attend(server, id);
            }
            Event::Awaited { id, at } => self.awaited_at(server, Claim { id, at }, limits),
            Event::Attached { client, home } => {
                // Claims that are awaited nowhere follow the home of their session; with a flaw, all claims do.
                let follows = |claim: &Claim| claim.at.is_none() || limits.has(Flaw::CancelledAtHome);
                let Some(claim) = table.of(client).filter(follows) else { return };
                let comes = home == server && homes[usize::from(client)] != Some(server);
                if comes && table.waits(claim.id) {
                    self.leave(server, claim.id);
                } else if comes || home != server {
                    self.attend(server, claim.id);
                }
            }
            Event::Adopted { by, .. } if by == server && self.life(server).is_some_and(|life| !life.is_behind) => {
                self.leave_unattended(server, table);
            }
            _ => {}
        }
    }

    /// Marks as unattended the waits at this server that no call attends to. `Desk::leave_unattended`.
    fn leave_unattended(&mut self, server: Server, table: &Table) {
        for claim in table.queue.iter().filter(|claim| claim.at == Some(server)) {
            if !self.is_attended(server, claim.id) {
                self.leave(server, claim.id);
            }
        }
    }

    /// A server follows the log to its head.
    pub(super) fn catch_up(&mut self, server: Server, limits: &Limits) {
        while self.life(server).is_some_and(|life| life.at < self.tail.len()) {
            self.follow(server, limits);
        }
        self.caught_up(server, limits);
    }

    /// A server reaches the log's head. If it had reloaded its table, it now reconciles its in-memory state.
    /// `Desk::caught_up`.
    pub(super) fn caught_up(&mut self, server: Server, limits: &Limits) {
        let length = self.tail.len();
        let Some(life) = self.live(server).filter(|life| life.is_behind && life.at == length) else { return };
        life.is_behind = false;
        let table = self.head.clone();
        self.forget(server, &table, limits);
        self.settle(server, &table, true, limits);
        self.leave_unattended(server, &table);
    }

    /// A server reloads its table. `Desk::reconcile`.
    pub(super) fn reload(&mut self, server: Server, at: usize, limits: &Limits) {
        let table = self.table_at(at, limits);
        let Some(life) = self.live(server) else { return };
        (life.at, life.is_behind) = (at, true);
        if limits.has(Flaw::ForgottenBehind) {
            self.forget(server, &table, limits);
        }
        self.settle(server, &table, limits.has(Flaw::EndedBehind), limits);
        if limits.has(Flaw::JudgedBehind) {
            self.leave_unattended(server, &table);
        }
    }

    /// Removes what the table does not contain. `Home::rebuild`, `Callers::retain_grants`.
    fn forget(&mut self, server: Server, table: &Table, limits: &Limits) {
        let is_here = |id: &Id| {
            table.claim(*id).is_some_and(|claim| match claim.at {
                Some(at) => at == server,
                None => table.homes[usize::from(id.client)] == Some(server) && limits.has(Flaw::AcknowledgedCancelled),
            })
        };
        if let Some(life) = self.live(server) {
            life.unattended.retain(is_here);
        }
        let keeps_grants = limits.has(Flaw::AcknowledgedCancelled);
        let granted: Vec<Id> = self.calls_at(server).filter_map(|call| call.grant()).collect();
        for id in granted {
            if table.claim(id).is_none_or(|claim| claim.at != Some(server) && !keeps_grants) {
                self.received(server, id);
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
                Some(_) if table.waits(id) => self.attend(server, id),
                Some(_) if limits.has(Flaw::GrantMissed) => {}
                Some(claim) => {
                    let attends = claim.at == Some(server) || limits.has(Flaw::AcknowledgedCancelled);
                    self.granted_to(server, claim, attends);
                }
                None if ends => self.ended(server, id, Reason::Disconnected),
                None => {}
            }
        }
    }
}
