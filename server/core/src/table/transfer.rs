//! Planned handoffs: to a waiter that the caller names, to the best one, or to a better one that preempts.

use crate::command::{Handoff, Outcome};
use crate::event::Event;
use crate::lock::Lock;
use crate::model::{Claim, ClaimState, Mode, Rank, Revision, ServerId, Transfer};
use crate::names::Text;
use crate::rejection::{Obstacle, Rejection};
use crate::table::Table;
use crate::table::decide::{Decision, Events};

impl Table {
    pub(super) fn transfer(
        &mut self,
        name: Text,
        token: Option<Revision>,
        to: Option<Text>,
        by: Handoff,
        decided: &mut Events,
    ) -> Decision {
        let impossible = |obstacle| Rejection::TransferImpossible { name: name.clone(), obstacle };
        let holder = match (&by, token) {
            (Handoff::ByHolder { session }, Some(token)) => self.held(session, &name, token).cloned(),
            _ => self.only_holder(&name, token).map_err(impossible).cloned(),
        };
        let holder = match holder {
            Ok(holder) => holder,
            Err(rejection) => return self.transferred(&name, token, &by).ok_or(rejection),
        };
        if !holder.spec.min_hold.is_zero() {
            return Err(impossible(Obstacle::MinHold));
        }
        let named = match &to {
            Some(session) => {
                let next = self.waiting(session, &name).find(|next| self.can_follow(next, &holder));
                Some(next.ok_or_else(|| impossible(Obstacle::NotWaiting(session.clone())))?.id)
            }
            None if self.best_after(&holder).is_some() => None,
            None => return Err(impossible(Obstacle::NoWaiter)),
        };
        match by {
            Handoff::ByHolder { .. } => {
                let to = self.hand_over(&holder, named, decided).ok_or_else(|| impossible(Obstacle::NoWaiter))?;
                Ok(Outcome::Transferred { from: holder, to })
            }
            Handoff::ByOperator { by, drain } => match (&holder.transfer, holder.token()) {
                (Some(pending), _) if pending.to == named => Ok(Outcome::Transferring { claim: holder }),
                (Some(_), Some(token)) => Err(Rejection::TransferPending { name, token }),
                (_, token) => {
                    let (claim, spec) = (holder.id, holder.spec.clone());
                    let token = token.unwrap_or_default();
                    let event =
                        Event::TransferStarted { claim, token, spec, to: named, to_session: to, drain, by: Some(by) };
                    let started = self.emit(event, decided);
                    let transfer = Some(Box::new(Transfer { to: named, started, drain }));
                    Ok(Outcome::Transferring { claim: Claim { transfer, ..holder } })
                }
            },
        }
    }

    /// The reply to a repeated handoff, which has already taken effect.
    fn transferred(&self, name: &str, token: Option<Revision>, by: &Handoff) -> Option<Outcome> {
        let (from, to) = self.memory.handoff(token?)?;
        let asks = match by {
            Handoff::ByHolder { session } => from.spec.session == *session,
            Handoff::ByOperator { .. } => true,
        };
        let meant = asks && from.spec.names.iter().any(|held| **held == *name);
        meant.then(|| Outcome::Transferred { from: from.clone(), to: to.clone() })
    }

    /// The only matching hold of a lock.
    fn only_holder(&self, name: &str, token: Option<Revision>) -> Result<&Claim, Obstacle> {
        let held = |claim: &&Claim| matches!(claim.state, ClaimState::Held { .. });
        let meant = |claim: &&Claim| token.is_none_or(|token| claim.token() == Some(token));
        let holders = self.locks.get(name).into_iter().flat_map(|lock| lock.holders().iter());
        let mut holders = holders.filter_map(|id| self.claims.get(id)).filter(held).filter(meant);
        let first = holders.next().ok_or(Obstacle::NotHeld)?;
        if holders.next().is_some() { Err(Obstacle::SeveralHolders) } else { Ok(first) }
    }

    /// The session's waiting claims to a lock.
    fn waiting(&self, session: &str, name: &str) -> impl Iterator<Item = &Claim> {
        let claims = self.sessions.get(session).into_iter().flat_map(move |session| self.claims_on(session, name));
        claims.filter(|claim| claim.state == ClaimState::Waiting)
    }

    /// Whether a waiter could be granted all its locks once the holder has gone, regardless of other waiters.
    fn can_follow(&self, next: &Claim, holder: &Claim) -> bool {
        next.spec.names.iter().all(|name| self.obstacle(name, next.spec.mode, Some(holder.id)).is_none())
    }

    /// The waiter that would be served first if the holder went.
    fn best_after(&self, holder: &Claim) -> Option<&Claim> {
        let first_in = |lock: &Lock, rank: Rank| lock.waiters().first().is_none_or(|first| *first >= rank);
        let firsts = holder.spec.names.iter().filter_map(|name| self.locks.get(name)?.waiters().first());
        let firsts = firsts.filter_map(|rank| self.claims.get(&rank.1));
        let free = |next: &&Claim| {
            let rank = next.rank();
            self.can_follow(next, holder)
                && next.spec.names.iter().filter_map(|name| self.locks.get(name)).all(|lock| first_in(lock, rank))
        };
        firsts.filter(free).min_by_key(|next| next.rank())
    }

    /// Hands a hold over: to the named waiter if it still can hold next, else to the best. Without any, the hold is
    /// released. Returns the new hold.
    pub(super) fn hand_over(&mut self, holder: &Claim, named: Option<Revision>, decided: &mut Events) -> Option<Claim> {
        let named = named.and_then(|named| self.claims.get(&named));
        let named = named.filter(|next| next.state == ClaimState::Waiting && self.can_follow(next, holder));
        let next = named.or_else(|| self.best_after(holder)).cloned();
        let (Some(next), Some(from_token)) = (next, holder.token()) else {
            self.give_back(holder, decided);
            return None;
        };
        let (from_spec, spec) = (holder.spec.clone(), next.spec.clone());
        let still_held = self.still_held(holder);
        let event = Event::ClaimTransferred {
            from: holder.id,
            from_token,
            from_spec,
            still_held,
            longest_pause: None,
            claim: next.id,
            spec,
        };
        let token = self.emit(event, decided);
        self.serve(holder.spec.names.iter().chain(&next.spec.names), decided);
        Some(Claim { state: ClaimState::Held { token }, ..next })
    }

    /// Lets the best waiter of a lock that allows preemption ask the holder to hand over.
    pub(super) fn preempt(&mut self, claim: Revision, home: ServerId, decided: &mut Events) {
        let Some(next) = self.claims.get(&claim) else { return };
        let at_home = self.is_home_of(next, home);
        let Some((holder, drain)) = self.preemptible(next).filter(|_| at_home) else { return };
        let Some(token) = holder.token() else { return };
        let (id, spec) = (holder.id, holder.spec.clone());
        let to_session = Some(next.spec.session.clone());
        let event = Event::TransferStarted { claim: id, token, spec, to: Some(claim), to_session, drain, by: None };
        self.emit(event, decided);
    }

    /// The hold that a waiter may preempt now, and how long its holder may then keep it.
    pub(crate) fn preemptible(&self, next: &Claim) -> Option<(&Claim, std::time::Duration)> {
        let [name] = &*next.spec.names else { return None };
        let preempt = self.settings.get(name)?.preempt?;
        let lock = self.locks.get(name)?;
        let holder = self.claims.get(lock.holders().first()?)?;
        let both_alone = next.spec.mode == Mode::Exclusive && holder.spec.mode == Mode::Exclusive;
        let better = lock.waiters().first() == Some(&next.rank()) && next.spec.priority > holder.spec.priority;
        let can = matches!(holder.state, ClaimState::Held { .. })
            && holder.transfer.is_none()
            && holder.spec.min_hold.is_zero()
            && self.can_follow(next, holder);
        (both_alone && better && can).then_some((holder, preempt.drain))
    }

    pub(super) fn end_transfer(&mut self, claim: Revision, started: Revision, home: ServerId, decided: &mut Events) {
        let Some(holder) = self.claims.get(&claim) else { return };
        let pending = holder.transfer.as_ref().is_some_and(|transfer| transfer.started == started);
        if let (true, true, Some(token)) = (self.is_home_of(holder, home), pending, holder.token()) {
            let spec = holder.spec.clone();
            self.emit(Event::TransferCancelled { claim, token, spec }, decided);
        }
    }
}
