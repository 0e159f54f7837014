//! Acquire: makes a claim, or finds the existing one.

use std::sync::Arc;
use std::time::Duration;

use crate::command::{Acquire, Outcome};
use crate::event::Event;
use crate::model::{
    AskedMode, CLAIM_BYTES, Claim, ClaimSpec, ClaimState, Mode, Rank, Revision, Session, claim_bytes, no_labels,
};
use crate::names::Text;
use crate::rejection::Rejection;
use crate::table::Table;
use crate::table::decide::{Decision, Events, moved};

impl Acquire {
    /// The parameters of this session's claim. Texts that are equal to existing ones are shared.
    fn of(self, session: &Session, mode: Mode) -> ClaimSpec {
        let waiting_server = Some(self.home);
        let Session { spec, opened, .. } = session;
        let Self { names, priority, metadata, min_hold, .. } = self;
        let (session, owner) = (spec.id.clone(), spec.owner.clone());
        let metadata = if metadata.is_empty() { no_labels() } else { metadata };
        let (opened, min_hold, declared) = (*opened, min_hold.into(), 0);
        ClaimSpec { session, opened, owner, names, mode, priority, metadata, min_hold, waiting_server, declared }
    }

    /// The size that the claim of this session will have.
    fn message_bytes(&self, session: &Session) -> usize {
        claim_bytes([&session.spec.id, &session.spec.owner], &self.names, &self.metadata)
    }
}

/// Checks whether the claims of a session may grow by `more` bytes.
pub(super) fn check_room(session: &Session, more: usize) -> Result<(), Rejection> {
    if more > 0 && session.claim_bytes + more > CLAIM_BYTES {
        return Err(Rejection::LimitReached { limit: "bytes of claims of one session", bound: CLAIM_BYTES });
    }
    Ok(())
}

impl Table {
    pub(super) fn acquire(&mut self, mut request: Acquire, decided: &mut Events) -> Decision {
        let opening = request.opening.take();
        let (session, home) = (&request.session, request.home);
        let rank = Rank::of_new(request.priority);
        if self.was_cancelled(session, opening.is_some(), &request) {
            return Err(Rejection::AcquireCancelled(session.clone()));
        }
        self.check_opened(session, request.opened)?;
        let (own, mode) = match (self.sessions.get(session), opening) {
            (None, None) => return self.open_session(session),
            (None, Some(opening)) => {
                let mode = self.mode(&request.names, request.mode)?;
                if !request.queue
                    && let Some(blocker) = self.blocker(&request.names, mode, rank)
                {
                    // A failed try leaves no trace, not even a session.
                    return Ok(Outcome::Busy { blocker: blocker.clone(), ttl: None, opened: None });
                }
                self.open(session, opening, home, decided);
                (None, mode)
            }
            (Some(found), opening) => {
                let own = self.own_claim(found, &request)?.cloned();
                if own.is_none() {
                    check_room(found, request.message_bytes(found))?;
                }
                let mode =
                    own.as_ref().map_or_else(|| self.mode(&request.names, request.mode), |own| Ok(own.spec.mode))?;
                if let Some(moved) = moved(found, home, opening.map(|opening| opening.ttl)) {
                    self.emit(moved, decided);
                }
                (own, mode)
            }
        };
        let found = self.find_session(session)?;
        let (ttl, opened) = (found.spec.ttl, found.opened);
        if let Some(own) = own {
            let anew = Arc::new(request.of(found, mode));
            // For a hold, only the server that granted it knows whether its call received a reply.
            let own = if own.state == ClaimState::Waiting { self.await_at(own, Some(home), decided) } else { own };
            return Ok(self.confirm(own, anew, ttl, decided));
        }
        let blocker = self.blocker(&request.names, mode, rank).cloned();
        if let (Some(blocker), false) = (&blocker, request.queue) {
            return Ok(Outcome::Busy { blocker: blocker.clone(), ttl: Some(ttl), opened: Some(opened) });
        }
        let spec = Arc::new(request.of(found, mode));
        let id = self.revision.next();
        match blocker {
            None => {
                self.emit(Event::ClaimGranted { claim: id, spec: spec.clone() }, decided);
                Ok(Outcome::Held { claim: Claim::new(id, spec, ClaimState::Held { token: id }), ttl })
            }
            Some(blocker) => {
                self.emit(Event::ClaimQueued(spec.clone()), decided);
                Ok(Outcome::Waiting { claim: Claim::new(id, spec, ClaimState::Waiting), blocker, ttl })
            }
        }
    }

    /// The outcome for a claim that the session already has. A hold from before the database lost history may have been
    /// released since, and others may have held with higher tokens: it is granted anew.
    fn confirm(&mut self, own: Claim, anew: Arc<ClaimSpec>, ttl: Duration, decided: &mut Events) -> Outcome {
        match own.token().filter(|token| *token < self.lost) {
            Some(token) => Outcome::Held { claim: self.grant_again(own, token, anew, decided), ttl },
            None => self.outcome_of(own, ttl),
        }
    }

    /// Grants a held claim anew, with these parameters.
    pub(super) fn grant_again(
        &mut self,
        own: Claim,
        from_token: Revision,
        anew: Arc<ClaimSpec>,
        decided: &mut Events,
    ) -> Claim {
        let (still_held, from, from_spec) = (self.still_held(&own), own.id, own.spec);
        let (claim, longest_pause, spec) = (self.revision.next(), None, anew.clone());
        let event = Event::ClaimTransferred { from, from_token, from_spec, still_held, longest_pause, claim, spec };
        let token = self.emit(event, decided);
        Claim::new(claim, anew, ClaimState::Held { token })
    }

    /// Whether the session cancelled the requested claim, or was closed, after a server had received the call.
    fn was_cancelled(&self, session: &Text, opens: bool, request: &Acquire) -> bool {
        let received = request.received;
        let was_closed = opens && !self.sessions.contains_key(session) && self.memory.closed_after(session, received);
        let was_cancelled = self.memory.cancelled_after(session, &request.names, received);
        was_closed || was_cancelled
    }

    /// The claim that the session already has, if it is the requested one.
    fn own_claim(&self, session: &Session, request: &Acquire) -> Result<Option<&Claim>, Rejection> {
        let own = request.names.iter().find_map(|name| Some((name, self.claim_on(session, name)?)));
        let Some((name, claim)) = own else { return Ok(None) };
        if claim.spec.names == request.names && request.mode.is(claim.spec.mode) {
            return Ok(Some(claim));
        }
        Err(Rejection::ClaimOverlap { name: name.clone(), session: session.spec.id.clone() })
    }

    /// The requested mode, if it agrees with the limits of the locks.
    pub(super) fn mode(&self, names: &[Text], asked: AskedMode) -> Result<Mode, Rejection> {
        let (permits, asked) = match asked {
            AskedMode::Exclusive => return Ok(Mode::Exclusive),
            AskedMode::Shared => return Ok(Mode::Shared),
            AskedMode::Permits { permits, limit } => (permits, limit),
        };
        let mut known = asked;
        for name in names {
            let mismatch = |limit, asked| Rejection::LimitMismatch { name: name.clone(), limit, asked };
            let Some(limit) = self.limit(name).or(asked) else {
                return Err(Rejection::LimitUnknown(name.clone()));
            };
            if let Some(asked) = asked.filter(|asked| *asked != limit) {
                return Err(mismatch(limit, asked));
            }
            if permits > limit {
                return Err(mismatch(limit, permits));
            }
            known = known.or(Some(limit));
        }
        Ok(Mode::Permits { permits, limit: known.unwrap_or(permits) })
    }

    /// The state of a claim, as an outcome.
    pub(super) fn outcome_of(&self, claim: Claim, ttl: Duration) -> Outcome {
        match claim.state {
            ClaimState::Waiting => {
                let spec = &claim.spec;
                let blocker = self.blocker(&spec.names, spec.mode, claim.rank()).unwrap_or(&claim).clone();
                Outcome::Waiting { claim, blocker, ttl }
            }
            ClaimState::Held { .. } | ClaimState::Lingering { .. } => Outcome::Held { claim, ttl },
        }
    }
}
