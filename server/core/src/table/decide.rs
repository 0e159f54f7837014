//! Deciding: what a command does to the table.

use std::sync::Arc;
use std::time::Duration;

use crate::command::{Command, Opening, Outcome};
use crate::event::{EndReason, Event, Eviction, Recorded};
use crate::model::{Claim, ClaimSpec, ClaimState, Lock, Metadata, Rank, Revision, ServerId, SessionSpec, Text};
use crate::rejection::Rejection;
use crate::table::{Table, lingers_at};

type Events = Vec<Recorded>;
type Decision = Result<Outcome, Rejection>;

/// What Acquire asks for, without who asks.
struct Request {
    names: Vec<Text>,
    queue: bool,
    priority: i32,
    metadata: Metadata,
    min_hold: Duration,
}

impl Table {
    /// Decides a command: pushes the events it causes onto `decided`, none if it is rejected. The table shows them at once,
    /// so that the next command of a batch is decided on top; [`Table::commit`] keeps them, [`Table::undo`] takes them back.
    ///
    /// # Errors
    /// A [`Rejection`] if the command changes nothing because it may not.
    pub fn decide(&mut self, command: Command, decided: &mut Vec<Recorded>) -> Result<Outcome, Rejection> {
        match command {
            Command::OpenSession { session, opening, home } => {
                if self.sessions.contains_key(&session) {
                    self.attach_session(&session, home, Some(opening.ttl), decided)?;
                } else {
                    self.open(&session, opening, home, decided);
                }
                self.open_session(&session)
            }
            Command::AttachSession { session, home } => {
                self.attach_session(&session, home, None, decided)?;
                self.open_session(&session)
            }
            Command::CloseSession { session } => {
                self.end_session(&session, EndReason::Closed, decided);
                Ok(Outcome::Done)
            }
            Command::EndSession { session, opened, home, reason } => {
                if self.sessions.get(&session).is_some_and(|found| found.opened == opened && found.spec.home == home) {
                    self.end_session(&session, reason, decided);
                }
                Ok(Outcome::Done)
            }
            Command::Acquire { session, opening, home, names, queue, priority, metadata, min_hold } => {
                let request = Request { names, queue, priority, metadata, min_hold };
                self.acquire(&session, opening, home, request, decided)
            }
            Command::CancelAcquire { session, names } => self.cancel(&session, &names, decided),
            Command::EndWait { claim } => Ok(self.end_wait(claim, decided)),
            Command::Abandon { claim, home } => {
                self.abandon(claim, home, decided);
                Ok(Outcome::Done)
            }
            Command::Release { session, name, token } => self.release(session, name, token, decided),
            Command::EndLingering { claim, home } => {
                if self.claims.get(&claim).is_some_and(|found| lingers_at(found, home)) {
                    self.end_claim(claim, EndReason::Released, None, decided);
                }
                Ok(Outcome::Done)
            }
            Command::Group(command) => self.decide_group(command, decided),
            Command::Evict { name, token, eviction } => Ok(self.evict(&name, token, eviction, decided)),
            Command::Adopt { dead, by } => {
                if dead != by && self.homes.contains_key(&dead) {
                    self.emit(Event::ServerAdopted { dead, by }, decided);
                }
                Ok(Outcome::Done)
            }
        }
    }

    pub(super) fn open(&mut self, session: &Text, opening: Opening, home: ServerId, decided: &mut Events) {
        let Opening { ttl, owner, metadata } = opening;
        let spec = SessionSpec { id: session.clone(), ttl, owner, metadata, home };
        self.emit(Event::SessionOpened(Arc::new(spec)), decided);
    }

    fn open_session(&self, session: &Text) -> Decision {
        let session = self.find_session(session)?.clone();
        let claims = session.claim_ids().into_iter().filter_map(|id| self.claims.get(&id).cloned()).collect();
        Ok(Outcome::Open { session, claims })
    }

    pub(super) fn attach_session(
        &mut self,
        session: &Text,
        home: ServerId,
        ttl: Option<Duration>,
        decided: &mut Events,
    ) -> Result<(), Rejection> {
        let found = self.find_session(session)?;
        let (opened, old_ttl) = (found.opened, found.spec.ttl);
        let ttl = ttl.unwrap_or(old_ttl);
        if found.spec.home != home || ttl != old_ttl {
            self.emit(Event::SessionAttached { session: session.clone(), opened, home, ttl }, decided);
        }
        Ok(())
    }

    fn end_session(&mut self, session: &Text, reason: EndReason, decided: &mut Events) {
        let Some(found) = self.sessions.get(session) else { return };
        let opened = found.opened;
        let mut freed = Vec::new();
        for claim in found.claim_ids() {
            freed.extend(self.end_or_linger(claim, reason, decided));
        }
        self.leave_groups(session, reason, decided);
        self.emit(Event::SessionEnded { session: session.clone(), opened, reason }, decided);
        self.serve(freed, decided);
    }

    fn acquire(
        &mut self,
        session: &Text,
        opening: Option<Opening>,
        home: ServerId,
        request: Request,
        decided: &mut Events,
    ) -> Decision {
        match (self.sessions.get(session), opening) {
            (None, None) => return self.open_session(session),
            (None, Some(opening)) => {
                if !request.queue
                    && let Some(blocker) = self.blocker(&request.names, Rank::of_new(request.priority))
                {
                    // Trying once in vain leaves no trace, not even a session.
                    return Ok(Outcome::Busy { blocker, ttl: None });
                }
                self.open(session, opening, home, decided);
            }
            (Some(found), opening) => {
                if let Some(existing) = request.names.iter().find(|name| found.claims.contains_key(*name))
                    && self.claim_of(found, &request.names).is_none()
                {
                    return Err(Rejection::ClaimOverlap { name: existing.clone(), session: session.clone() });
                }
                self.attach_session(session, home, opening.map(|opening| opening.ttl), decided)?;
            }
        }
        let found = self.find_session(session)?;
        let ttl = found.spec.ttl;
        if let Some(claim) = self.claim_of(found, &request.names) {
            return Ok(self.standing(claim.clone(), ttl));
        }
        let blocker = self.blocker(&request.names, Rank::of_new(request.priority));
        if let (Some(blocker), false) = (&blocker, request.queue) {
            return Ok(Outcome::Busy { blocker: blocker.clone(), ttl: Some(ttl) });
        }
        let Request { names, priority, metadata, min_hold, .. } = request;
        let (opened, owner) = (found.opened, found.spec.owner.clone());
        let spec = ClaimSpec { session: session.clone(), opened, owner, names, priority, metadata, min_hold };
        let (id, spec) = (self.revision.next(), Arc::new(spec));
        if blocker.is_some() {
            self.emit(Event::ClaimQueued(spec.clone()), decided);
        } else {
            self.emit(Event::ClaimGranted { claim: id, spec: spec.clone() }, decided);
        }
        let state = blocker.as_ref().map_or(ClaimState::Held { token: id }, |_| ClaimState::Waiting);
        Ok(self.standing(Claim { id, spec, state }, ttl))
    }

    /// How a claim stands, as an answer.
    fn standing(&self, claim: Claim, ttl: Duration) -> Outcome {
        match claim.state {
            ClaimState::Waiting => {
                let blocker = self.blocker(&claim.spec.names, claim.rank()).unwrap_or_else(|| claim.clone());
                Outcome::Waiting { claim, blocker, ttl }
            }
            ClaimState::Held { .. } | ClaimState::Lingering { .. } => Outcome::Held { claim, ttl },
        }
    }

    /// The claim that keeps one of this rank from being granted these names: a holder, or a waiter that goes first.
    fn blocker(&self, names: &[Text], rank: Rank) -> Option<Claim> {
        let in_the_way = |lock: &Lock| {
            let first = lock.waiters.first().filter(|first| **first < rank).map(|first| first.1);
            lock.holder.or(first)
        };
        let id = names.iter().filter_map(|name| self.locks.get(name)).find_map(in_the_way)?;
        self.claims.get(&id).cloned()
    }

    fn cancel(&mut self, session: &Text, names: &[Text], decided: &mut Events) -> Decision {
        let found = self.find_session(session)?;
        if let Some(claim) = self.claim_of(found, names) {
            let freed = self.end_or_linger(claim.id, EndReason::Released, decided);
            self.serve(freed, decided);
        }
        Ok(Outcome::Done)
    }

    fn end_wait(&mut self, claim: Revision, decided: &mut Events) -> Outcome {
        let Some(found) = self.claims.get(&claim).cloned() else { return Outcome::Done };
        if matches!(found.state, ClaimState::Lingering { .. }) {
            return Outcome::Done;
        }
        let ttl = self.sessions.get(&found.spec.session).map(|session| session.spec.ttl);
        match (self.standing(found, ttl.unwrap_or_default()), ttl) {
            (Outcome::Waiting { blocker, .. }, ttl) => {
                self.end_claim(claim, EndReason::Released, None, decided);
                Outcome::Busy { blocker, ttl }
            }
            (held, _) => held,
        }
    }

    fn abandon(&mut self, claim: Revision, home: ServerId, decided: &mut Events) {
        let Some(found) = self.claims.get(&claim) else { return };
        let at_home = self.sessions.get(&found.spec.session).is_some_and(|session| session.spec.home == home);
        if at_home && !matches!(found.state, ClaimState::Lingering { .. }) {
            self.end_claim(claim, EndReason::Disconnected, None, decided);
        }
    }

    fn release(&mut self, session: Text, name: Text, token: Revision, decided: &mut Events) -> Decision {
        if token > self.revision {
            return Err(Rejection::TokenFromFuture { token, revision: self.revision });
        }
        let found = self.sessions.get(&session);
        let claim = found.and_then(|found| self.claims.get(found.claims.get(&name)?));
        if let Some(claim) = claim
            && claim.state == (ClaimState::Held { token })
        {
            let freed = self.end_or_linger(claim.id, EndReason::Released, decided);
            self.serve(freed, decided);
            return Ok(Outcome::Done);
        }
        match self.memory.end_of_hold(&session, token) {
            Some(EndReason::Released) => return Ok(Outcome::Done),
            Some(reason) if found.is_some() => return Err(Rejection::HoldEnded { name, session, token, reason }),
            _ => {}
        }
        self.find_session(&session)?;
        if claim.is_some_and(|claim| claim.token().is_some()) {
            return Err(Rejection::TokenMismatch { name, session, token });
        }
        let holder = self.locks.get(&name).and_then(|lock| self.claims.get(&lock.holder?));
        let holder = holder.filter(|holder| matches!(holder.state, ClaimState::Held { .. }));
        Err(Rejection::NotHolder { holder: holder.map(|holder| holder.spec.session.clone()), name, session })
    }

    fn evict(&mut self, name: &Text, token: Option<Revision>, eviction: Eviction, decided: &mut Events) -> Outcome {
        let holder = self.locks.get(name).and_then(|lock| self.claims.get(&lock.holder?));
        match holder.filter(|holder| token.is_none_or(|token| holder.token() == Some(token))).cloned() {
            Some(holder) => {
                self.end_claim(holder.id, EndReason::Evicted, Some(eviction), decided);
                Outcome::Evicted(vec![holder])
            }
            None => Outcome::Evicted(Vec::new()),
        }
    }

    /// Ends a claim and serves those who waited for its locks.
    fn end_claim(&mut self, id: Revision, reason: EndReason, eviction: Option<Eviction>, decided: &mut Events) {
        let Some(claim) = self.claims.get(&id) else { return };
        let (token, spec) = (claim.token(), claim.spec.clone());
        let freed = spec.names.clone();
        self.emit(Event::ClaimEnded { claim: id, token, spec, reason, eviction }, decided);
        self.serve(freed, decided);
    }

    /// Ends a claim, or lets it linger if it is held with a minimum. Returns the names that others may be granted now.
    fn end_or_linger(&mut self, id: Revision, reason: EndReason, decided: &mut Events) -> Vec<Text> {
        let Some(claim) = self.claims.get(&id) else { return Vec::new() };
        let spec = claim.spec.clone();
        let home = self.sessions.get(&spec.session).map(|session| session.spec.home);
        match (claim.state, home) {
            (ClaimState::Held { token }, Some(home)) if !spec.min_hold.is_zero() => {
                self.emit(Event::ClaimLingering { claim: id, token, spec, reason, home }, decided);
                Vec::new()
            }
            _ => {
                let (token, freed) = (claim.token(), spec.names.clone());
                self.emit(Event::ClaimEnded { claim: id, token, spec, reason, eviction: None }, decided);
                freed
            }
        }
    }

    /// Grants freed names to those who are first in all their queues. A grant takes names, and taking a waiter out of
    /// other queues frees nobody there, for it then holds those names; so one look at each freed name is enough, except
    /// that the next in one queue may wait for another freed name as well and is found there.
    fn serve(&mut self, mut freed: Vec<Text>, decided: &mut Events) {
        freed.sort_unstable();
        freed.dedup();
        for name in freed {
            let Some(first) = self.locks.get(&name).and_then(|lock| lock.waiters.first()).copied() else { continue };
            let Some(claim) = self.claims.get(&first.1) else { continue };
            let spec = claim.spec.clone();
            if self.blocker(&spec.names, first).is_none() {
                self.emit(Event::ClaimGranted { claim: first.1, spec }, decided);
            }
        }
    }
}

impl Rank {
    /// The rank of a claim that is made now: behind every waiter of the same priority.
    fn of_new(priority: i32) -> Self {
        Self(std::cmp::Reverse(priority), Revision::MAX)
    }
}
