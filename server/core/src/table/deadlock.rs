//! Deadlock detection: finds sessions that wait for each other in a cycle. A single Acquire of several names cannot be
//! part of a cycle by itself; several consecutive Acquires can.
//!
//! The wait-for graph is over claims. A waiting claim waits for the one just before it in each queue, and for the
//! holders that block it. A held claim waits for whatever its session waits for, since a waiting session is assumed to
//! release nothing meanwhile. Each claim in a cycle is deadlocked (Coffman, Elphick, Shoshani: System Deadlocks, 1971).

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::map::Map;
use crate::model::{Claim, ClaimState, Revision, Session};
use crate::names::Text;
use crate::table::Table;

/// The maximum number of claims visited in search of one cycle.
const REACHED: usize = 10_000;

/// The maximum number of waits visited for one request in total: some milliseconds, in which nothing is decided.
const SEARCHED: usize = 20_000;

/// The number of a session's claims that are visited in the time that one wait takes.
const CLAIMS_PER_WAIT: usize = 16;

/// The search for deadlocks among many claims. It is bounded, however many claims wait for each other: the remainder is
/// not searched.
#[derive(Debug, Default)]
pub struct DeadlockSearch {
    /// The waits visited so far.
    visited: usize,
    /// The stakes of the sessions met, by the revisions that opened them: looked up once, not for each of their claims.
    sessions: Map<Revision, Stakes>,
}

/// A session's holds and waits.
#[derive(Debug, Default)]
struct Stakes {
    holds_anything: bool,
    waiting: Vec<Revision>,
}

impl DeadlockSearch {
    /// Whether the search has reached its bound.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.visited >= SEARCHED
    }

    fn stakes(&mut self, session: &Session, table: &Table) -> &Stakes {
        let visited = &mut self.visited;
        self.sessions.entry(session.opened).or_insert_with(|| {
            *visited += session.claims.len() / CLAIMS_PER_WAIT;
            let mut stakes = Stakes::default();
            for claim in table.claims_of(session) {
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
    /// The claims that a waiting claim waits for directly: for each of its locks, the waiter just before it, or the
    /// holders that block it if it is first (at most some thousand of them).
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

    /// The cycle of waiting claims that this one is in, beginning with it, each waiting for a claim of the next one's
    /// session. `None` if it is in none, if it is not waiting, if its session holds nothing, if the cycle is longer
    /// than some thousand claims, or if the search is over.
    #[must_use]
    pub fn deadlock(&self, claim: Revision, search: &mut DeadlockSearch) -> Option<Vec<Revision>> {
        let found = self.claims.get(&claim).filter(|found| found.state == ClaimState::Waiting)?;
        // No claim can wait for a session that holds nothing, so most claims need no search.
        let session = self.sessions.get(&found.spec.session)?;
        if !search.stakes(session, self).holds_anything {
            return None;
        }
        // Breadth first, so the cycle is a shortest one.
        let mut came_from: BTreeMap<Revision, Revision> = BTreeMap::new();
        let mut reached = VecDeque::from([claim]);
        let mut sessions = BTreeSet::new();
        while let Some(at) = reached.pop_front()
            && came_from.len() < REACHED
            && !search.is_over()
        {
            let successors = self.successors(at, &mut sessions, search);
            search.visited += 1 + successors.len();
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

    /// The claims that this one waits for. Those of a session are returned once, however many of its holds are reached:
    /// `sessions` are the sessions already visited, by the revisions that opened them.
    fn successors(
        &self,
        at: Revision,
        sessions: &mut BTreeSet<Revision>,
        search: &mut DeadlockSearch,
    ) -> BTreeSet<Revision> {
        let Some(claim) = self.claims.get(&at) else { return BTreeSet::new() };
        match claim.state {
            ClaimState::Waiting => {
                // Include the blocking holders: a cycle through them is shorter, and each session in it can break it.
                let holders = |name: &Text| {
                    self.obstacle(name, claim.spec.mode, None)?;
                    self.locks.get(name).map(|lock| lock.holders().iter().take(REACHED))
                };
                let mut successors = self.waits_for(claim);
                successors.extend(claim.spec.names.iter().filter_map(holders).flatten());
                // Claims of one session to one lock are those of several tasks, which wait for each other.
                let own =
                    |id: &Revision| self.claims.get(id).is_some_and(|other| other.spec.opened == claim.spec.opened);
                successors.retain(|successor| !own(successor));
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
