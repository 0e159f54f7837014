//! Acquire: making a claim, or finding the one that is there.

use std::sync::Arc;
use std::time::Duration;

use crate::command::{AskedMode, Opening, Outcome};
use crate::event::Event;
use crate::model::{Claim, ClaimSpec, ClaimState, Metadata, Mode, Rank, ServerId, Text};
use crate::rejection::Rejection;
use crate::table::Table;
use crate::table::decide::{Decision, Events};

/// What Acquire asks for, without who asks.
pub(super) struct Request {
    pub(super) names: Vec<Text>,
    pub(super) mode: AskedMode,
    pub(super) queue: bool,
    pub(super) priority: i32,
    pub(super) metadata: Metadata,
    pub(super) min_hold: Duration,
}

impl Table {
    pub(super) fn acquire(
        &mut self,
        session: &Text,
        opening: Option<Opening>,
        home: ServerId,
        request: Request,
        decided: &mut Events,
    ) -> Decision {
        let rank = Rank::of_new(request.priority);
        match (self.sessions.get(session), opening) {
            (None, None) => return self.open_session(session),
            (None, Some(opening)) => {
                let mode = self.mode(&request)?;
                if !request.queue
                    && let Some(blocker) = self.blocker(&request.names, mode, rank)
                {
                    // Trying once in vain leaves no trace, not even a session.
                    return Ok(Outcome::Busy { blocker, ttl: None });
                }
                self.open(session, opening, home, decided);
            }
            (Some(found), opening) => {
                let same = self.claim_of(found, &request.names).is_some_and(|claim| request.mode.is(claim.spec.mode));
                if !same {
                    if let Some(name) = request.names.iter().find(|name| found.claims.contains_key(*name)) {
                        return Err(Rejection::ClaimOverlap { name: name.clone(), session: session.clone() });
                    }
                    self.mode(&request)?;
                }
                self.attach_session(session, home, opening.as_ref(), decided)?;
            }
        }
        let found = self.find_session(session)?;
        let ttl = found.spec.ttl;
        if let Some(claim) = self.claim_of(found, &request.names) {
            return Ok(self.standing(claim.clone(), ttl));
        }
        let mode = self.mode(&request)?;
        let blocker = self.blocker(&request.names, mode, rank);
        if let (Some(blocker), false) = (&blocker, request.queue) {
            return Ok(Outcome::Busy { blocker: blocker.clone(), ttl: Some(ttl) });
        }
        let Request { names, priority, metadata, min_hold, .. } = request;
        let (opened, owner) = (found.opened, found.spec.owner.clone());
        let spec = ClaimSpec { session: session.clone(), opened, owner, names, mode, priority, metadata, min_hold };
        let (id, spec) = (self.revision.next(), Arc::new(spec));
        if blocker.is_some() {
            self.emit(Event::ClaimQueued(spec.clone()), decided);
        } else {
            self.emit(Event::ClaimGranted { claim: id, spec: spec.clone() }, decided);
        }
        let state = blocker.as_ref().map_or(ClaimState::Held { token: id }, |_| ClaimState::Waiting);
        Ok(self.standing(Claim::new(id, spec, state), ttl))
    }

    /// The mode that is asked for, once it agrees with what the locks have.
    fn mode(&self, request: &Request) -> Result<Mode, Rejection> {
        let (permits, asked) = match request.mode {
            AskedMode::Exclusive => return Ok(Mode::Exclusive),
            AskedMode::Shared => return Ok(Mode::Shared),
            AskedMode::Permits { permits, limit } => (permits, limit),
        };
        let mut known = asked;
        for name in &request.names {
            let mismatch = |limit, asked| Rejection::LimitMismatch { name: name.clone(), limit, asked };
            let Some(limit) = self.limit(name).or(asked) else {
                return Err(Rejection::LimitUnknown { name: name.clone() });
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

    /// How a claim stands, as an answer.
    pub(super) fn standing(&self, claim: Claim, ttl: Duration) -> Outcome {
        match claim.state {
            ClaimState::Waiting => {
                let spec = &claim.spec;
                let blocker = self.blocker(&spec.names, spec.mode, claim.rank()).unwrap_or_else(|| claim.clone());
                Outcome::Waiting { claim, blocker, ttl }
            }
            ClaimState::Held { .. } | ClaimState::Lingering { .. } => Outcome::Held { claim, ttl },
        }
    }
}
