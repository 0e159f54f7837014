//! Deciding: turns commands into events, and applies those to the table provisionally.

use std::sync::Arc;
use std::time::Duration;

use crate::command::{Acquire, Actor, Command, FEW_CLAIM_BYTES, Outcome, Request};
use crate::end::{EndReason, Eviction};
use crate::event::{Event, Recorded};
use crate::group::GroupCommand;
use crate::model::{Claim, ClaimSpec, ClaimState, Metadata, Opening, Revision, ServerId, Session, SessionSpec};
use crate::names::{Names, Text};
use crate::rejection::Rejection;
use crate::table::acquire::check_room;
use crate::table::{Table, lingers_at};

pub(super) type Events = Vec<Recorded>;
pub(super) type Decision = Result<Outcome, Rejection>;

impl Table {
    /// Decides a request: appends the events that it causes to `decided`, or none if it is rejected. The table reflects
    /// them at once, so that the next command of a batch is decided on top; [`Table::commit`] keeps them,
    /// [`Table::undo`] undoes them.
    ///
    /// # Errors
    /// A [`Rejection`] if the command is not allowed, and so changes nothing.
    pub fn decide(&mut self, request: impl Into<Request>, decided: &mut Vec<Recorded>) -> Result<Outcome, Rejection> {
        let Request { actor, command } = request.into();
        if let Some(actor) = &actor {
            self.check_owner(&actor.identity, &command)?;
            self.check_limits(actor, &command)?;
        }
        self.carry_out(command, actor.as_ref(), decided)
    }

    fn carry_out(&mut self, command: Command, actor: Option<&Actor>, decided: &mut Events) -> Decision {
        self.check_undeclared(&command)?;
        match command {
            Command::OpenSession { session, opening, home } => {
                if self.sessions.contains_key(&session) {
                    self.move_session(&session, home, Some(opening.ttl), decided)?;
                } else {
                    self.open(&session, opening, home, decided);
                }
                return self.open_session(&session);
            }
            Command::MoveSession { session, home } => {
                self.move_session(&session, home, None, decided)?;
                return self.open_session(&session);
            }
            Command::CloseSession { session } => self.end_session(&session, EndReason::Closed, decided),
            Command::EndSession { session, opened, home, reason } => {
                if self.sessions.get(&session).is_some_and(|found| found.opened == opened && found.spec.home == home) {
                    self.end_session(&session, reason, decided);
                }
            }
            Command::Acquire(request) => return self.acquire(request, decided),
            Command::CancelAcquire { session, names } => self.cancel(&session, &names, decided)?,
            Command::EndWait { claim, home } => return Ok(self.end_wait(claim, home, decided)),
            Command::Abandon { claim, home } => self.abandon(claim, home, decided),
            Command::Acknowledge { claim } => {
                let held = |found: &&Claim| matches!(found.state, ClaimState::Held { .. });
                if let Some(claim) = self.claims.get(&claim).filter(held).cloned() {
                    return Ok(Outcome::Updated(self.await_at(claim, None, decided)));
                }
            }
            Command::Release { session, name, token } => self.release(session, name, token, decided)?,
            Command::EndLingering { claim, home } => {
                if self.claims.get(&claim).is_some_and(|found| lingers_at(found, home)) {
                    self.end_claim(claim, EndReason::Released, None, decided);
                }
            }
            Command::Group(command) => return self.decide_group(command, decided),
            Command::Evict { name, token, eviction } => return Ok(self.evict(&name, token, eviction, decided)),
            Command::UpdateClaim { session, name, token, metadata } => {
                return self.update(session, name, token, metadata, decided);
            }
            Command::Transfer { name, token, to, by } => return self.transfer(name, token, to, by, decided),
            Command::Preempt { claim, home } => self.preempt(claim, home, decided),
            Command::EndTransfer { claim, started, home } => self.end_transfer(claim, started, home, decided),
            Command::ConfigureLock { name, settings, by } => self.configure_lock(name, settings, by, decided),
            Command::Connect(hello) => return self.connect(hello, actor, decided),
            Command::Change { client, epoch, home, connected, changes } => {
                if connected < self.lost {
                    return Err(Rejection::ClientSuperseded(client));
                }
                return self.change_client(&client, (epoch, home), changes, actor, decided);
            }
            Command::AbandonClient { client, epoch, home, since } => {
                self.abandon_client(&client, (epoch, home), since, decided);
            }
            Command::EndClient { client, epoch, home } => self.end_client(&client, epoch, home, decided),
            Command::Adopt { dead, by } => {
                if dead != by && self.servers().any(|server| server == dead) {
                    self.emit(Event::ServerAdopted { dead, by }, decided);
                }
            }
        }
        Ok(Outcome::Done)
    }

    pub(super) fn open(&mut self, session: &Text, opening: Opening, home: ServerId, decided: &mut Events) {
        let Opening { ttl, owner, metadata, identity } = opening;
        let (id, disconnect_grace, client, declared) = (session.clone(), None, None, 0);
        let spec = SessionSpec { id, ttl, disconnect_grace, owner, metadata, home, identity, client, declared };
        self.emit(Event::SessionOpened(Arc::new(spec)), decided);
    }

    pub(super) fn open_session(&self, session: &Text) -> Decision {
        let found = self.find_session(session)?;
        let claims = (found.claim_bytes <= FEW_CLAIM_BYTES).then(|| self.claims_of(found).cloned().collect());
        Ok(Outcome::Open { spec: found.spec.clone(), opened: found.opened, claims })
    }

    /// Moves an open session to this home, with this TTL if there is one.
    pub(super) fn move_session(
        &mut self,
        session: &Text,
        home: ServerId,
        ttl: Option<Duration>,
        decided: &mut Events,
    ) -> Result<(), Rejection> {
        if let Some(moved) = moved(self.find_session(session)?, home, ttl) {
            self.emit(moved, decided);
        }
        Ok(())
    }

    pub(super) fn end_session(&mut self, session: &Text, reason: EndReason, decided: &mut Events) {
        let Some(found) = self.sessions.get(session) else { return };
        let opened = found.opened;
        let claims: Vec<Claim> = self.claims_of(found).cloned().collect();
        let mut freed = Vec::new();
        for claim in &claims {
            if self.end_or_linger(claim, reason, decided) {
                freed.push(&claim.spec);
            }
        }
        self.leave_groups(session, reason, decided);
        self.emit(Event::SessionEnded { session: session.clone(), opened, reason }, decided);
        self.serve(freed.into_iter().flat_map(|spec| &spec.names), decided);
    }

    /// Rejects a session of the same id other than the intended one, if that is given.
    ///
    /// # Errors
    /// If no session of this id is open, or another one than `meant`.
    pub fn check_opened(&self, session: &Text, meant: Option<Revision>) -> Result<(), Rejection> {
        let Some(meant) = meant else { return Ok(()) };
        let opened = self.find_session(session)?.opened;
        if opened == meant { Ok(()) } else { Err(Rejection::SessionReopened { session: session.clone(), opened }) }
    }

    /// Rejects a call that would add to a declared session, or move it, which its client alone does.
    fn check_undeclared(&self, command: &Command) -> Result<(), Rejection> {
        let session = match command {
            Command::OpenSession { session, .. }
            | Command::MoveSession { session, .. }
            | Command::Acquire(Acquire { session, .. })
            | Command::CancelAcquire { session, .. }
            | Command::Group(GroupCommand::Join { session, .. } | GroupCommand::Leave { session, .. }) => session,
            _ => return Ok(()),
        };
        match self.sessions.get(session) {
            Some(found) if found.spec.declared > 0 => Err(Rejection::SessionInUse(session.clone())),
            _ => Ok(()),
        }
    }

    fn check_owner(&self, identity: &Text, command: &Command) -> Result<(), Rejection> {
        let session = command.session().and_then(|session| self.sessions.get(session));
        match session {
            Some(found) if !found.spec.is_of(Some(identity)) => Err(Rejection::SessionOfAnother(found.spec.id.clone())),
            _ => Ok(()),
        }
    }

    fn cancel(&mut self, session: &Text, names: &Names, decided: &mut Events) -> Result<(), Rejection> {
        let found = self.find_session(session)?;
        if let Some(claim) = self.claim_of(found, names).cloned() {
            self.give_back(&claim, decided);
        }
        // Even if it repeats the last event: an Acquire may have been received in between.
        self.emit(Event::AcquireCancelled { session: session.clone(), names: names.clone() }, decided);
        Ok(())
    }

    /// Whether this server is the home of the claim's session.
    pub(super) fn is_home_of(&self, claim: &Claim, server: ServerId) -> bool {
        self.sessions.get(&claim.spec.session).is_some_and(|session| session.spec.home == server)
    }

    /// Makes the claim awaited at `at` from now on.
    pub(super) fn await_at(&mut self, mut claim: Claim, at: Option<ServerId>, decided: &mut Events) -> Claim {
        if claim.spec.waiting_server == at {
            return claim;
        }
        self.emit(Event::ClaimAwaited { claim: claim.id, at }, decided);
        Arc::make_mut(&mut claim.spec).waiting_server = at;
        claim
    }

    fn end_wait(&mut self, claim: Revision, home: ServerId, decided: &mut Events) -> Outcome {
        let Some(found) = self.claims.get(&claim).filter(|found| !found.lingers()).cloned() else {
            return Outcome::Done;
        };
        let Some(session) = self.sessions.get(&found.spec.session) else { return Outcome::Done };
        let (ttl, opened, waits_here) = (session.spec.ttl, session.opened, found.spec.waiting_server == Some(home));
        match self.outcome_of(found, ttl) {
            Outcome::Waiting { blocker, .. } if waits_here => {
                self.end_claim(claim, EndReason::Released, None, decided);
                Outcome::Busy { blocker, ttl: Some(ttl), opened: Some(opened) }
            }
            outcome => outcome,
        }
    }

    fn abandon(&mut self, claim: Revision, home: ServerId, decided: &mut Events) {
        let Some(found) = self.claims.get(&claim) else { return };
        if found.spec.waiting_server == Some(home) && !found.lingers() {
            self.end_claim(claim, EndReason::Disconnected, None, decided);
        }
    }

    fn release(&mut self, session: Text, name: Text, token: Revision, decided: &mut Events) -> Result<(), Rejection> {
        let claim = match self.held(&session, &name, token) {
            Ok(claim) => claim.clone(),
            // A repeated release, which has already taken effect.
            Err(Rejection::HoldEnded { reason: EndReason::Released | EndReason::Transferred, .. }) => {
                return Ok(());
            }
            Err(rejection) => return Err(rejection),
        };
        self.leave_or_release(&claim, decided);
        Ok(())
    }

    /// Ends a claim at the request of its session: it leaves the queue, or is released, or handed over if that was
    /// requested.
    pub(super) fn leave_or_release(&mut self, claim: &Claim, decided: &mut Events) {
        match &claim.transfer {
            Some(transfer) => drop(self.hand_over(claim, transfer.to, decided)),
            None => self.give_back(claim, decided),
        }
    }

    fn update(
        &mut self,
        session: Text,
        name: Text,
        token: Revision,
        metadata: Metadata,
        decided: &mut Events,
    ) -> Decision {
        let claim = self.held(&session, &name, token)?.clone();
        if claim.spec.metadata == metadata && claim.spec.waiting_server.is_none() {
            return Ok(Outcome::Updated(claim));
        }
        // The session knows the token, so the grant was returned.
        let spec = Arc::new(ClaimSpec { metadata, waiting_server: None, ..(*claim.spec).clone() });
        let more = spec.message_bytes().saturating_sub(claim.spec.message_bytes());
        check_room(self.find_session(&session)?, more)?;
        self.emit(Event::ClaimUpdated { claim: claim.id, token, spec: spec.clone() }, decided);
        Ok(Outcome::Updated(Claim { spec, ..claim }))
    }

    /// The claim with which a session holds a lock, with this token.
    pub(super) fn held(&self, session: &Text, name: &Text, token: Revision) -> Result<&Claim, Rejection> {
        if token > self.revision {
            return Err(Rejection::TokenFromFuture { token, revision: self.revision });
        }
        let found = self.sessions.get(session);
        let mut claims = found.into_iter().flat_map(|found| self.claims_on(found, name));
        if let Some(claim) = claims.find(|claim| claim.state == ClaimState::Held { token }) {
            return Ok(claim);
        }
        let claim = found.and_then(|found| self.claim_on(found, name));
        let (name, session) = (name.clone(), session.clone());
        let ended = self.memory.end_of_hold(&session, token);
        match ended {
            // This holds even if the session has ended since, so that a repeated release is no error.
            Some(reason) if found.is_some() || matches!(reason, EndReason::Released | EndReason::Transferred) => {
                return Err(Rejection::HoldEnded { name, session, token, reason });
            }
            _ => {}
        }
        self.find_session(&session)?;
        if claim.is_some_and(|claim| claim.token().is_some()) {
            return Err(Rejection::TokenMismatch { name, session, token });
        }
        let holder = self.holder_of(&name).filter(|holder| matches!(holder.state, ClaimState::Held { .. }));
        Err(Rejection::NotHolder { holder: holder.map(|holder| holder.spec.session.clone()), name, session })
    }

    fn evict(&mut self, name: &Text, token: Option<Revision>, eviction: Eviction, decided: &mut Events) -> Outcome {
        let holders = self.locks.get(name).into_iter().flat_map(|lock| lock.holders().iter());
        let meant = |holder: &&Claim| token.is_none_or(|token| holder.token() == Some(token));
        let meant: Vec<Claim> = holders.filter_map(|holder| self.claims.get(holder)).filter(meant).cloned().collect();
        for holder in &meant {
            self.end_claim(holder.id, EndReason::Evicted, Some(eviction.clone()), decided);
        }
        Outcome::Evicted(meant)
    }
}

/// The event that gives a session this home and TTL, unless it has them.
pub(super) fn moved(found: &Session, home: ServerId, ttl: Option<Duration>) -> Option<Event> {
    let ttl = ttl.unwrap_or(found.spec.ttl);
    if (found.spec.home, found.spec.ttl) == (home, ttl) {
        return None;
    }
    let (session, opened) = (found.spec.id.clone(), found.opened);
    Some(Event::SessionMoved { session, opened, home, ttl })
}
