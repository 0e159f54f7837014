//! A lock: its holders and its waiters.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::few::Few;
use crate::model::{Claim, ClaimState, Rank, Revision};

/// A lock that is held or waited for. An idle one is not kept.
#[derive(Clone, Debug)]
pub struct Lock(Inner);

#[derive(Clone, Debug)]
enum Inner {
    /// At most one holder. As small as that: a server may have a million such locks.
    Alone(Few<Revision>),
    /// Kept until the lock is idle.
    Crowd(Box<Crowd>),
}

#[derive(Clone, Debug, Default)]
struct Crowd {
    holders: Few<Revision>,
    permits: u64,
    waiters: BTreeSet<Rank>,
    /// The claims, each after the revision that opened its session, so that no lookup searches through all claims.
    claims: BTreeSet<(Revision, Revision)>,
    /// The claims to permits: waiting ones (true) after those that hold or linger.
    counted: BTreeSet<(bool, Rank)>,
}

impl Default for Lock {
    fn default() -> Self {
        Self(Inner::Alone(Few::default()))
    }
}

/// The waiters of a lock without any.
static NO_WAITERS: BTreeSet<Rank> = BTreeSet::new();

/// Compares the holders, permits and waiters, not whether a crowd is present.
impl PartialEq for Lock {
    fn eq(&self, other: &Self) -> bool {
        self.holders() == other.holders() && self.permits() == other.permits() && self.waiters() == other.waiters()
    }
}

impl Eq for Lock {}

impl Lock {
    /// The claims that hold the lock or linger on it: several only if all are shared, or all are to permits.
    #[must_use]
    pub fn holders(&self) -> &Few<Revision> {
        match &self.0 {
            Inner::Alone(holders) => holders,
            Inner::Crowd(crowd) => &crowd.holders,
        }
    }

    fn crowd(&self) -> Option<&Crowd> {
        match &self.0 {
            Inner::Alone(_) => None,
            Inner::Crowd(crowd) => Some(crowd),
        }
    }

    /// The number of permits that the holders have.
    #[must_use]
    pub fn permits(&self) -> u64 {
        self.crowd().map_or(0, |crowd| crowd.permits)
    }

    /// The waiting claims, in the order in which they will be served.
    #[must_use]
    pub fn waiters(&self) -> &BTreeSet<Rank> {
        self.crowd().map_or(&NO_WAITERS, |crowd| &crowd.waiters)
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.holders().is_empty() && self.waiters().is_empty()
    }

    /// The only claims here that can belong to the session that was opened at this revision, in order.
    pub(crate) fn claims_of(&self, opened: Revision) -> impl Iterator<Item = Revision> {
        let (sole, crowd) = match &self.0 {
            Inner::Crowd(crowd) => (None, Some(crowd.claims.range((opened, Revision(0))..=(opened, Revision::MAX)))),
            Inner::Alone(holders) => (holders.first().copied(), None),
        };
        sole.into_iter().chain(crowd.into_iter().flatten().map(|(_, claim)| *claim))
    }

    /// The first of the claims to permits: a holder if there is any, else a waiter.
    pub(crate) fn first_counted(&self) -> Option<Revision> {
        let (_, rank) = self.crowd()?.counted.first()?;
        Some(rank.1)
    }

    /// Adds a claim. `find` looks up a claim that is already here.
    pub(crate) fn enter<'a>(&mut self, claim: &Claim, find: impl FnOnce(Revision) -> Option<&'a Claim>) {
        let may_be_alone = claim.state != ClaimState::Waiting && claim.spec.mode.permits() == 0;
        match &mut self.0 {
            Inner::Alone(holders) if may_be_alone && holders.is_empty() => holders.insert(claim.id),
            Inner::Alone(holders) => {
                let holder = holders.first().copied().and_then(find);
                let mut crowd = Box::new(Crowd::default());
                holder.into_iter().chain([claim]).for_each(|claim| crowd.enter(claim));
                self.0 = Inner::Crowd(crowd);
            }
            Inner::Crowd(crowd) => crowd.enter(claim),
        }
    }

    /// The reverse of [`Self::enter`].
    pub(crate) fn leave(&mut self, claim: &Claim) {
        match &mut self.0 {
            Inner::Alone(holders) => holders.remove(&claim.id),
            Inner::Crowd(crowd) => crowd.leave(claim),
        }
    }
}

impl Crowd {
    fn enter(&mut self, claim: &Claim) {
        if claim.state == ClaimState::Waiting {
            self.waiters.insert(claim.rank());
        } else {
            self.holders.insert(claim.id);
            self.permits += u64::from(claim.spec.mode.permits());
        }
        if claim.spec.mode.permits() > 0 {
            self.counted.insert(counted(claim));
        }
        if !claim.lingers() {
            self.claims.insert((claim.spec.opened, claim.id));
        }
    }

    fn leave(&mut self, claim: &Claim) {
        if claim.state == ClaimState::Waiting {
            self.waiters.remove(&claim.rank());
        } else {
            self.holders.remove(&claim.id);
            self.permits -= u64::from(claim.spec.mode.permits());
        }
        self.counted.remove(&counted(claim));
        if !claim.lingers() {
            self.claims.remove(&(claim.spec.opened, claim.id));
        }
    }
}

/// The sort key of a claim to permits: holders sort by their ids alone.
fn counted(claim: &Claim) -> (bool, Rank) {
    match claim.state {
        ClaimState::Waiting => (true, claim.rank()),
        ClaimState::Held { .. } | ClaimState::Lingering { .. } => (false, Rank(Reverse(0), claim.id)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{ClaimSpec, Mode};
    use crate::testing::claim_spec;

    /// A claim to permits, each by another session.
    fn claim(id: u64, permits: u32, waits: bool) -> Claim {
        let spec = ClaimSpec { mode: Mode::Permits { permits, limit: 9 }, ..claim_spec("ann", id, "a") };
        let state = if waits { ClaimState::Waiting } else { ClaimState::Held { token: Revision(id) } };
        Claim::new(Revision(id), Arc::new(spec), state)
    }

    fn lock(claims: &[(u64, u32, bool)]) -> Lock {
        let mut lock = Lock::default();
        claims.iter().for_each(|(id, permits, waits)| lock.enter(&claim(*id, *permits, *waits), |_| None));
        lock
    }

    #[test]
    fn locks_are_equal_if_the_same_claims_hold_and_wait() {
        let one = lock(&[(1, 2, false), (2, 1, true)]);
        assert_eq!(one, lock(&[(2, 1, true), (1, 2, false)]));
        assert_ne!(one, lock(&[(1, 2, false)]), "without waiters");
        assert_ne!(one, lock(&[(1, 1, false), (2, 1, true)]), "with fewer permits");
        assert_ne!(one, lock(&[(3, 2, false), (2, 1, true)]), "another claim");
    }

    #[test]
    fn lock_without_a_crowd_is_small() {
        assert_eq!(size_of::<Lock>(), 16);
    }

    #[test]
    fn claim_that_has_left_is_not_found() {
        let mut lock = lock(&[(1, 2, false), (2, 1, false), (3, 1, true)]);
        let found =
            |lock: &Lock| (lock.first_counted(), [1, 2, 3].map(|opened| lock.claims_of(Revision(opened)).next()));
        let [one, two, three] = [1, 2, 3].map(|id| Some(Revision(id)));
        assert_eq!(found(&lock), (one, [one, two, three]));
        lock.leave(&claim(1, 2, false));
        assert_eq!(found(&lock), (two, [None, two, three]));
        lock.leave(&claim(2, 1, false));
        assert_eq!(found(&lock), (three, [None, None, three]), "a limit is known as long as there is a waiter");
        lock.leave(&claim(3, 1, true));
        assert_eq!(found(&lock), (None, [None; 3]));
    }
}
