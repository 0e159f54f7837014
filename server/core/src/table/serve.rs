//! Serving: which claims may hold a lock, and which is next.

use std::collections::BTreeSet;

use crate::end::{EndReason, Eviction};
use crate::event::Event;
use crate::lock::Lock;
use crate::model::{Claim, ClaimState, Mode, Rank, Revision};
use crate::names::Text;
use crate::table::Table;
use crate::table::decide::Events;

impl Table {
    /// The limit of a lock's permits, if known: an operator's setting, else the limit of the existing claims.
    #[must_use]
    pub fn limit(&self, name: &str) -> Option<u32> {
        if let Some(limit) = self.settings.get(name).and_then(|settings| settings.limit) {
            return Some(limit);
        }
        match self.claims.get(&self.locks.get(name)?.first_counted()?)?.spec.mode {
            Mode::Permits { limit, .. } => Some(limit),
            Mode::Exclusive | Mode::Shared => None,
        }
    }

    /// The first of the claims that hold a lock or linger on it.
    pub(super) fn holder_of(&self, name: &str) -> Option<&Claim> {
        self.claims.get(self.locks.get(name)?.holders().first()?)
    }

    /// A claim that holds a lock and excludes a claim of this mode, `except` aside.
    pub(super) fn obstacle(&self, name: &str, mode: Mode, except: Option<Revision>) -> Option<&Claim> {
        self.obstacle_in(self.locks.get(name)?, name, mode, except)
    }

    fn obstacle_in(&self, lock: &Lock, name: &str, mode: Mode, except: Option<Revision>) -> Option<&Claim> {
        let holder = self.claims.get(lock.holders().iter().find(|holder| Some(**holder) != except)?)?;
        let beside = match (mode, holder.spec.mode) {
            (Mode::Shared, Mode::Shared) => true,
            (Mode::Permits { permits, .. }, Mode::Permits { .. }) => {
                let spared = except.filter(|except| lock.holders().contains(except));
                let spared =
                    spared.and_then(|except| self.claims.get(&except)).map_or(0, |claim| claim.spec.mode.permits());
                let out = lock.permits() - u64::from(spared) + u64::from(permits);
                self.limit(name).is_some_and(|limit| out <= limit.into())
            }
            _ => false,
        };
        (!beside).then_some(holder)
    }

    /// The claim that prevents the grant of these names to a claim of this mode and rank: a holder, or a waiter that
    /// goes first. No claim overtakes in a queue, even if it could be granted at once, so that readers do not starve
    /// writers.
    pub(super) fn blocker(&self, names: &[Text], mode: Mode, rank: Rank) -> Option<&Claim> {
        let ahead = |lock: &Lock| {
            let first = lock.waiters().first().filter(|first| **first < rank)?;
            self.claims.get(&first.1)
        };
        names.iter().find_map(|name| {
            let lock = self.locks.get(name)?;
            self.obstacle_in(lock, name, mode, None).or_else(|| ahead(lock))
        })
    }

    /// The claim that prevents the grant of a waiting claim.
    #[must_use]
    pub fn blocker_of(&self, claim: &Claim) -> Option<&Claim> {
        self.blocker(&claim.spec.names, claim.spec.mode, claim.rank())
    }

    /// Those of a held claim's names that other claims still hold when it ends.
    pub(super) fn still_held(&self, claim: &Claim) -> Vec<Text> {
        if claim.spec.mode == Mode::Exclusive || claim.token().is_none() {
            return Vec::new();
        }
        let held = |id: &Revision| {
            let other = self.claims.get(id).filter(|other| other.id != claim.id);
            other.is_some_and(|other| matches!(other.state, ClaimState::Held { .. }))
        };
        let by_others = |name: &&Text| self.locks.get(name).is_some_and(|lock| lock.holders().iter().any(held));
        claim.spec.names.iter().filter(by_others).cloned().collect()
    }

    /// Ends a claim and serves the waiters for its locks.
    pub(super) fn end_claim(
        &mut self,
        id: Revision,
        reason: EndReason,
        eviction: Option<Eviction>,
        decided: &mut Events,
    ) {
        let Some(claim) = self.claims.get(&id).cloned() else { return };
        self.emit_ended(&claim, reason, eviction, decided);
        self.serve(&claim.spec.names, decided);
    }

    /// Ends a claim on behalf of its session, and serves the waiters for its locks.
    pub(super) fn give_back(&mut self, claim: &Claim, decided: &mut Events) {
        if self.end_or_linger(claim, EndReason::Released, decided) {
            self.serve(&claim.spec.names, decided);
        }
    }

    /// Ends a claim, or lets it linger if it is held with a minimum. Returns whether others may be granted its locks
    /// now.
    pub(super) fn end_or_linger(&mut self, claim: &Claim, reason: EndReason, decided: &mut Events) -> bool {
        if let ClaimState::Held { token } = claim.state
            && !claim.spec.min_hold.is_zero()
            && let Some(home) = self.sessions.get(&claim.spec.session).map(|session| session.spec.home)
        {
            let (id, spec, still_held, longest_pause) = (claim.id, claim.spec.clone(), self.still_held(claim), None);
            let lingering = Event::ClaimLingering { claim: id, token, spec, reason, home, still_held, longest_pause };
            self.emit(lingering, decided);
            return false;
        }
        self.emit_ended(claim, reason, None, decided);
        true
    }

    fn emit_ended(&mut self, claim: &Claim, reason: EndReason, eviction: Option<Eviction>, decided: &mut Events) {
        let (token, spec, still_held, longest_pause) =
            (claim.token(), claim.spec.clone(), self.still_held(claim), None);
        let ended = Event::ClaimEnded { claim: claim.id, token, spec, reason, eviction, still_held, longest_pause };
        self.emit(ended, decided);
    }

    /// Grants names whose queues have changed to the claims that are first in all their queues, until none can be
    /// granted. Each grant makes other claims first, in every queue that the granted claim leaves.
    pub(super) fn serve<'a>(&mut self, changed: impl IntoIterator<Item = &'a Text>, decided: &mut Events) {
        let awaited = |name: &&Text| self.locks.get(name).is_some_and(|lock| !lock.waiters().is_empty());
        let mut changed: BTreeSet<Text> = changed.into_iter().filter(awaited).cloned().collect();
        while let Some(name) = changed.pop_first() {
            let first = self.locks.get(&name).and_then(|lock| lock.waiters().first().copied());
            let Some(first) = first else { continue };
            let Some(claim) = self.claims.get(&first.1) else { continue };
            let spec = claim.spec.clone();
            if self.blocker(&spec.names, spec.mode, first).is_none() {
                // Behind an exclusive claim, no other can be granted.
                if spec.mode != Mode::Exclusive {
                    changed.extend(spec.names.iter().cloned());
                }
                self.emit(Event::ClaimGranted { claim: first.1, spec }, decided);
            }
        }
    }
}

impl Rank {
    /// The rank of a new claim: behind every waiter of the same priority.
    pub(super) fn of_new(priority: i32) -> Self {
        Self(std::cmp::Reverse(priority), Revision::MAX)
    }
}
