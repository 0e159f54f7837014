//! The census: the resources of each identity, and the check of its limits.

use std::collections::BTreeMap;

use crate::command::{Acquire, Actor, Command, Limits};
use crate::group::GroupCommand;
use crate::model::{Claim, ClaimState, Rank};
use crate::names::Text;
use crate::rejection::Rejection;
use crate::table::Table;

/// A counted resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    Session,
    Claim,
    Waiter,
    Membership,
}

/// The number of resources of each kind, by [`Counted`].
type Resources = [usize; 4];

/// The resources of each identity. Identities without any are absent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Census(BTreeMap<Text, Resources>);

impl Census {
    /// Counts a new resource. Resources without an authenticated identity are not counted.
    pub(super) fn add(&mut self, identity: Option<&Text>, counted: Counted) {
        let Some(identity) = identity else { return };
        match self.0.get_mut(identity) {
            Some(has) => has[counted as usize] += 1,
            None => self.0.entry(identity.clone()).or_default()[counted as usize] += 1,
        }
    }

    /// The reverse of [`Self::add`].
    pub(super) fn remove(&mut self, identity: Option<&Text>, counted: Counted) {
        let Some(identity) = identity else { return };
        let Some(has) = self.0.get_mut(identity) else { return };
        has[counted as usize] = has[counted as usize].saturating_sub(1);
        if *has == Resources::default() {
            self.0.remove(identity);
        }
    }
}

/// What a claim counts as.
pub(super) fn counted_as(claim: &Claim) -> impl Iterator<Item = Counted> {
    let waits = claim.state == ClaimState::Waiting;
    [Counted::Claim].into_iter().chain(waits.then_some(Counted::Waiter))
}

impl Table {
    /// Rejects a call that would exceed the limits of its actor. Existing resources may be requested again, even beyond
    /// the limits.
    pub(super) fn check_limits(&self, actor: &Actor, command: &Command) -> Result<(), Rejection> {
        if actor.limits == Limits::default() {
            return Ok(());
        }
        let actor = Some(actor);
        if self.would_open(command) {
            self.check_session_limit(actor)?;
        }
        match command {
            Command::Acquire(Acquire { session, names, mode, queue, priority, .. }) => {
                if self.has_claim(session, names) {
                    return Ok(());
                }
                let Ok(mode) = self.mode(names, *mode) else { return Ok(()) };
                let waits = self.blocker(names, mode, Rank::of_new(*priority)).is_some();
                // If it is not to wait, the reply is that the locks are not free, and no claim is made.
                if waits && !queue { Ok(()) } else { self.check_claim_limits(actor, waits) }
            }
            Command::Group(GroupCommand::Join { group, session, .. }) if self.membership(session, group).is_none() => {
                self.check_membership_limit(actor)
            }
            _ => Ok(()),
        }
    }

    /// Checks the limit for one more session.
    pub(super) fn check_session_limit(&self, actor: Option<&Actor>) -> Result<(), Rejection> {
        let limit = actor.and_then(|actor| actor.limits.sessions);
        self.check_limit(actor, Counted::Session, limit, "sessions of this identity in the namespace")
    }

    /// Checks the limits for one more claim.
    pub(super) fn check_claim_limits(&self, actor: Option<&Actor>, waits: bool) -> Result<(), Rejection> {
        let limits = actor.map_or_else(Limits::default, |actor| actor.limits);
        self.check_limit(actor, Counted::Claim, limits.claims, "claims of this identity in the namespace")?;
        let waiters = limits.waiters.filter(|_| waits);
        self.check_limit(actor, Counted::Waiter, waiters, "waiters of this identity in the namespace")
    }

    /// Checks the limit for one more membership.
    pub(super) fn check_membership_limit(&self, actor: Option<&Actor>) -> Result<(), Rejection> {
        let limit = actor.and_then(|actor| actor.limits.memberships);
        self.check_limit(actor, Counted::Membership, limit, "memberships of this identity in the namespace")
    }

    fn check_limit(
        &self,
        actor: Option<&Actor>,
        of: Counted,
        bound: Option<u32>,
        limit: &'static str,
    ) -> Result<(), Rejection> {
        let (Some(actor), Some(bound)) = (actor, bound) else { return Ok(()) };
        let has = self.census.0.get(&actor.identity).map_or(0, |has| has[of as usize]);
        let bound = bound as usize;
        if has >= bound { Err(Rejection::LimitReached { limit, bound }) } else { Ok(()) }
    }

    fn would_open(&self, command: &Command) -> bool {
        let session = match command {
            Command::OpenSession { session, .. }
            | Command::Acquire(Acquire { session, opening: Some(_), .. })
            | Command::Group(GroupCommand::Join { session, opening: Some(_), .. }) => session,
            _ => return false,
        };
        !self.sessions.contains_key(session)
    }

    fn has_claim(&self, session: &Text, names: &[Text]) -> bool {
        self.sessions.get(session).is_some_and(|session| self.claim_of(session, names).is_some())
    }
}
