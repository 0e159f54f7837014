//! The census: the resources of each identity, and the check of its limits.

use std::collections::BTreeMap;

use crate::command::{Acquire, Command, Limits};
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
    /// Rejects a command that would exceed an identity's limits. Existing resources may be requested again, even beyond
    /// the limits.
    pub(super) fn check_limits(&self, identity: &Text, limits: Limits, command: &Command) -> Result<(), Rejection> {
        if limits == Limits::default() {
            return Ok(());
        }
        let has = self.census.0.get(identity).copied().unwrap_or_default();
        let full = |limit: Option<u32>, of: Counted| limit.filter(|limit| has[of as usize] >= *limit as usize);
        let refuse = |limit, bound: u32| Err(Rejection::LimitReached { limit, bound: bound as usize });
        if let Some(bound) = full(limits.sessions, Counted::Session)
            && self.would_open(command)
        {
            return refuse("sessions of this identity in the namespace", bound);
        }
        match command {
            Command::Acquire(Acquire { session, names, mode, queue, priority, .. }) => {
                let (claims, waiters) = (full(limits.claims, Counted::Claim), full(limits.waiters, Counted::Waiter));
                if claims.or(waiters).is_none() || self.has_claim(session, names) {
                    return Ok(());
                }
                let Ok(mode) = self.mode(names, *mode) else { return Ok(()) };
                let waits = self.blocker(names, mode, Rank::of_new(*priority)).is_some();
                match (claims, waiters) {
                    // The reply is that the locks are not free, and no claim is made.
                    _ if waits && !queue => Ok(()),
                    (Some(bound), _) => refuse("claims of this identity in the namespace", bound),
                    (_, Some(bound)) if waits => refuse("waiters of this identity in the namespace", bound),
                    _ => Ok(()),
                }
            }
            Command::Group(GroupCommand::Join { group, session, .. }) => {
                match full(limits.memberships, Counted::Membership) {
                    Some(bound) if self.membership(session, group).is_none() => {
                        refuse("memberships of this identity in the namespace", bound)
                    }
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
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
