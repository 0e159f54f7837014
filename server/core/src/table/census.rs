//! The census: what each identity has here, and what it may have.

use std::collections::BTreeMap;

use crate::command::{Command, Limits};
use crate::group::GroupCommand;
use crate::model::{Claim, ClaimState, Rank};
use crate::names::Text;
use crate::rejection::Rejection;
use crate::table::Table;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    Session,
    Claim,
    Waiter,
    Membership,
}

/// What each identity has. Whoever has nothing is not in it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Census(BTreeMap<Text, Belongings>);

/// What an identity has: its open sessions, and what is theirs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Belongings {
    sessions: usize,
    claims: usize,
    waiters: usize,
    memberships: usize,
}

impl Belongings {
    fn of(&mut self, counted: Counted) -> &mut usize {
        match counted {
            Counted::Session => &mut self.sessions,
            Counted::Claim => &mut self.claims,
            Counted::Waiter => &mut self.waiters,
            Counted::Membership => &mut self.memberships,
        }
    }
}

impl Census {
    /// Counts something that comes. What nobody had to prove is not counted.
    pub(super) fn add(&mut self, identity: Option<&Text>, counted: Counted) {
        let Some(identity) = identity else { return };
        if let Some(belongings) = self.0.get_mut(identity) {
            *belongings.of(counted) += 1;
        } else {
            *self.0.entry(identity.clone()).or_default().of(counted) += 1;
        }
    }

    /// The reverse of [`Self::add`].
    pub(super) fn remove(&mut self, identity: Option<&Text>, counted: Counted) {
        let Some(identity) = identity else { return };
        let Some(belongings) = self.0.get_mut(identity) else { return };
        let count = belongings.of(counted);
        *count = count.saturating_sub(1);
        if *belongings == Belongings::default() {
            self.0.remove(identity);
        }
    }

    /// Counts a claim that comes.
    pub(super) fn add_claim(&mut self, identity: Option<&Text>, claim: &Claim) {
        counted_as(claim).for_each(|counted| self.add(identity, counted));
    }

    /// The reverse of [`Self::add_claim`].
    pub(super) fn remove_claim(&mut self, identity: Option<&Text>, claim: &Claim) {
        counted_as(claim).for_each(|counted| self.remove(identity, counted));
    }
}

fn counted_as(claim: &Claim) -> impl Iterator<Item = Counted> {
    let waits = claim.state == ClaimState::Waiting;
    [Counted::Claim].into_iter().chain(waits.then_some(Counted::Waiter))
}

impl Table {
    /// Refuses what would give an identity more than it may have. What it has already may be asked for again, however much that is.
    pub(super) fn check_limits(&self, identity: &Text, limits: Limits, command: &Command) -> Result<(), Rejection> {
        if limits == Limits::NONE {
            return Ok(());
        }
        let has = self.census.0.get(identity).copied().unwrap_or_default();
        let full = |limit: Option<u32>, has: usize| limit.filter(|limit| has >= *limit as usize);
        let refuse = |limit, bound: u32| Err(Rejection::LimitReached { limit, bound: bound as usize });
        if let Some(bound) = full(limits.sessions, has.sessions)
            && self.would_open(command)
        {
            return refuse("sessions of this identity in the namespace", bound);
        }
        match command {
            Command::Acquire { session, names, mode, queue, priority, .. } => {
                let (claims, waiters) = (full(limits.claims, has.claims), full(limits.waiters, has.waiters));
                if claims.or(waiters).is_none() || self.has_claim(session, names) {
                    return Ok(());
                }
                let Ok(mode) = self.mode(names, *mode) else { return Ok(()) };
                let waits = self.blocker(names, mode, Rank::of_new(*priority)).is_some();
                match (claims, waiters) {
                    // It is told that they are not free, and nothing comes of it.
                    _ if waits && !queue => Ok(()),
                    (Some(bound), _) => refuse("claims of this identity in the namespace", bound),
                    (_, Some(bound)) if waits => refuse("waiters of this identity in the namespace", bound),
                    _ => Ok(()),
                }
            }
            Command::Group(GroupCommand::Join { group, session, .. }) => {
                match full(limits.memberships, has.memberships) {
                    Some(bound) if self.membership(session, group).is_none() => {
                        refuse("memberships of this identity in the namespace", bound)
                    }
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// Whether a command opens a session, if it is carried out.
    fn would_open(&self, command: &Command) -> bool {
        let session = match command {
            Command::OpenSession { session, .. }
            | Command::Acquire { session, opening: Some(_), .. }
            | Command::Group(GroupCommand::Join { session, opening: Some(_), .. }) => session,
            _ => return false,
        };
        !self.sessions.contains_key(session)
    }

    fn has_claim(&self, session: &Text, names: &[Text]) -> bool {
        self.sessions.get(session).is_some_and(|session| self.claim_of(session, names).is_some())
    }
}
