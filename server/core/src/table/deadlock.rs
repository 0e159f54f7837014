//! Deadlocks: sessions that wait for each other in a circle. One Acquire of several names cannot be part of one by itself;
//! several Acquires, one after the other, can.
//!
//! The wait-for graph is over claims. A waiting claim waits for the one just before it in each queue, and for the holders that
//! are in its way. A held claim waits for what its session waits for, since a session that waits is taken to
//! give nothing back meanwhile. Each claim that is in a circle is deadlocked (Coffman, Elphick, Shoshani: System Deadlocks, 1971).

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::map::Map;
use crate::model::{Claim, ClaimState, Revision, Session};
use crate::names::Text;
use crate::table::Table;

/// How many claims are looked at in search of one circle.
const REACHED: usize = 10_000;

/// How many waits are looked at for all that is asked at once: some milliseconds, in which nothing is decided.
const SEARCHED: usize = 20_000;

/// So many claims of a session are looked at in the time that one wait takes.
const CLAIMS_PER_WAIT: usize = 16;

/// The search for deadlocks among many claims. It has an end, however much waits for each other: what is left then is not searched.
#[derive(Debug)]
pub struct DeadlockSearch {
    left: usize,
    /// What the sessions have that were met, by the revisions that opened them: looked up once, not for each of their claims.
    sessions: Map<Revision, Stakes>,
}

/// What a session has.
#[derive(Debug, Default)]
struct Stakes {
    holds_anything: bool,
    waiting: Vec<Revision>,
}

impl Default for DeadlockSearch {
    fn default() -> Self {
        Self { left: SEARCHED, sessions: Map::default() }
    }
}

impl DeadlockSearch {
    /// Whether nothing more is searched.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.left == 0
    }

    fn stakes(&mut self, session: &Session, table: &Table) -> &Stakes {
        let left = &mut self.left;
        self.sessions.entry(session.opened).or_insert_with(|| {
            *left = left.saturating_sub(session.claims.len() / CLAIMS_PER_WAIT);
            let mut stakes = Stakes::default();
            for claim in session.claims.iter().filter_map(|id| table.claims.get(id)) {
                match claim.state {
                    ClaimState::Waiting => stakes.waiting.push(claim.id),
                    ClaimState::Held { .. } => stakes.holds_anything = true,
                    ClaimState::Lingering { .. } => {}
                }
            }
            stakes
        })
    }
}

impl Table {
    /// The claims that a waiting claim waits for directly: of each of its locks, the waiter just before it, or the holders
    /// that are in its way if it is first (some thousand of them at the most).
    #[must_use]
    pub fn waits_for(&self, claim: &Claim) -> BTreeSet<Revision> {
        if claim.state != ClaimState::Waiting {
            return BTreeSet::new();
        }
        let rank = claim.rank();
        let mut found = BTreeSet::new();
        for name in &claim.spec.names {
            let Some(lock) = self.locks.get(name) else { continue };
            match lock.waiters().range(..rank).next_back() {
                Some(before) => drop(found.insert(before.1)),
                None if self.obstacle(name, claim.spec.mode, None).is_some() => {
                    found.extend(lock.holders().iter().take(REACHED))
                }
                None => {}
            }
        }
        found
    }

    /// The circle of waiting claims that this one is in, beginning with it, each waiting for something of the session of the
    /// next. `None` if it is in none, if it is not waiting, if its session holds nothing, if the circle is longer than
    /// some thousand claims, or if the search is over.
    #[must_use]
    pub fn deadlock(&self, claim: Revision, search: &mut DeadlockSearch) -> Option<Vec<Revision>> {
        let found = self.claims.get(&claim).filter(|found| found.state == ClaimState::Waiting)?;
        // Nobody can wait for a session that holds nothing; so most claims need no search.
        let session = self.sessions.get(&found.spec.session)?;
        if !search.stakes(session, self).holds_anything {
            return None;
        }
        // Breadth first, so the circle is a shortest one.
        let mut came_from: BTreeMap<Revision, Revision> = BTreeMap::new();
        let mut reached = VecDeque::from([claim]);
        let mut sessions = BTreeSet::new();
        while let Some(at) = reached.pop_front()
            && came_from.len() < REACHED
            && !search.is_over()
        {
            let successors = self.successors(at, &mut sessions, search);
            search.left = search.left.saturating_sub(1 + successors.len());
            for next in successors {
                if next == claim {
                    return Some(self.circle(claim, at, &came_from));
                }
                if let Entry::Vacant(unreached) = came_from.entry(next) {
                    unreached.insert(at);
                    reached.push_back(next);
                }
            }
        }
        None
    }

    fn circle(&self, claim: Revision, last: Revision, came_from: &BTreeMap<Revision, Revision>) -> Vec<Revision> {
        let waits = |id: &Revision| self.claims.get(id).is_some_and(|claim| claim.state == ClaimState::Waiting);
        let back = std::iter::successors(Some(last), |at| came_from.get(at).copied().filter(|_| *at != claim));
        let mut circle: Vec<Revision> = back.filter(waits).collect();
        circle.reverse();
        circle
    }

    /// The claims that this one waits for. Those of a session are given once, however many of its holds are reached: `sessions`
    /// are the ones that are done, by the revisions that opened them.
    fn successors(
        &self,
        at: Revision,
        sessions: &mut BTreeSet<Revision>,
        search: &mut DeadlockSearch,
    ) -> BTreeSet<Revision> {
        let Some(claim) = self.claims.get(&at) else { return BTreeSet::new() };
        match claim.state {
            ClaimState::Waiting => {
                // Whoever is in its way itself, too: a circle through these is shorter, and each in it can break it.
                let holders = |name: &Text| {
                    self.obstacle(name, claim.spec.mode, None)?;
                    self.locks.get(name).map(|lock| lock.holders().iter().take(REACHED))
                };
                let mut successors = self.waits_for(claim);
                successors.extend(claim.spec.names.iter().filter_map(holders).flatten());
                successors
            }
            ClaimState::Held { .. } if sessions.insert(claim.spec.opened) => {
                let session = self.sessions.get(&claim.spec.session);
                session
                    .map(|session| search.stakes(session, self).waiting.iter().copied().collect())
                    .unwrap_or_default()
            }
            ClaimState::Held { .. } | ClaimState::Lingering { .. } => BTreeSet::new(),
        }
    }
}
