//! The state that must be equal in the model and in a table.

use std::collections::BTreeMap;

use tenure_core::{Claim, ClaimState, Outcome, Rejection, Revision, Table};

use super::{Kind, Lack, Naive, Stake, State, names_of};

pub type Holders = BTreeMap<String, Vec<String>>;
pub type Waiters = BTreeMap<String, Vec<String>>;

impl Naive {
    /// Copies the labels that the table assigned.
    pub fn learn(&mut self, table: &Table) {
        self.opened = self
            .sessions
            .keys()
            .map(|id| (id.clone(), table.session(id).expect("a session that the model has open").opened.0))
            .collect();
        for index in 0..self.stakes.len() {
            let stake = &self.stakes[index];
            let taken = |id: u64| self.stakes.iter().any(|other| other.id == id);
            let lingering = matches!(stake.state, State::Lingering(_));
            let same = |claim: &&Claim| {
                (claim.id.0 == stake.id || stake.id == 0 && !taken(claim.id.0))
                    && *claim.spec.session == *stake.session
                    && names_of(claim) == stake.names
                    && claim.spec.declared == stake.number
                    && claim.lingers() == lingering
            };
            let claim = table.claims().find(same).expect("a claim that the model has");
            let stake = &mut self.stakes[index];
            stake.id = claim.id.0;
            stake.token = claim.token().map_or(0, |token| token.0);
            assert!(stake.state != State::Held || stake.stale == (stake.token < table.lost().0), "stale: {claim:?}");
        }
        for (_, at) in self.ended.iter_mut().filter(|(_, at)| *at == 0) {
            *at = table.revision().0;
        }
    }

    /// The open sessions and their homes.
    pub fn homes(&self) -> BTreeMap<String, u64> {
        self.sessions.clone()
    }

    pub fn holders(&self) -> Holders {
        let held = self.stakes.iter().filter(|stake| stake.state != State::Waiting);
        gather(held.flat_map(|stake| stake.names.iter().map(|name| (name.clone(), stake.session.clone()))))
    }

    /// The claims that were asked to hand over, and their successors.
    pub fn pending(&self) -> BTreeMap<u64, u64> {
        let asked = self.stakes.iter().filter(|stake| stake.state == State::Held);
        asked.filter_map(|stake| Some((stake.id, stake.pending?))).collect()
    }

    pub fn waiters(&self) -> Waiters {
        let mut waiting: Vec<&Stake> = self.stakes.iter().filter(|stake| stake.state == State::Waiting).collect();
        waiting.sort_by_key(|stake| -stake.priority);
        let mut waiters = Waiters::new();
        for stake in waiting {
            for name in &stake.names {
                waiters.entry(name.clone()).or_default().push(stake.session.clone());
            }
        }
        waiters
    }
}

pub fn holders_of(table: &Table) -> Holders {
    let held = |claim: &&Claim| claim.state != ClaimState::Waiting;
    let claims = table.claims().filter(held);
    gather(claims.flat_map(|claim| names_of(claim).into_iter().map(|name| (name, claim.spec.session.to_string()))))
}

fn gather(holds: impl Iterator<Item = (String, String)>) -> Holders {
    let mut holders = Holders::new();
    for (name, session) in holds {
        holders.entry(name).or_default().push(session);
    }
    holders.values_mut().for_each(|sessions| sessions.sort());
    holders
}

pub fn homes_of(table: &Table) -> BTreeMap<String, u64> {
    let sessions = table.sessions_after(Revision(0));
    sessions.map(|session| (session.spec.id.to_string(), session.spec.home.0)).collect()
}

pub fn pending_of(table: &Table) -> BTreeMap<u64, u64> {
    let claims = table.claims().filter_map(|claim| Some((claim.id.0, claim.transfer.as_deref()?)));
    claims.map(|(id, transfer)| (id, transfer.to.map_or(0, |to| to.0))).collect()
}

pub fn waiters_of(table: &Table) -> Waiters {
    let mut waiters = Waiters::new();
    for (name, lock) in table.locks_after("", None) {
        for rank in lock.waiters() {
            let claim = table.claim(rank.1).expect("a waiter is a claim");
            waiters.entry(name.to_string()).or_default().push(claim.spec.session.to_string());
        }
    }
    waiters
}

pub fn kind_of(outcome: &Result<Outcome, Rejection>) -> Kind {
    match outcome {
        Ok(Outcome::Open { .. }) => Kind::Open,
        Ok(Outcome::Held { .. }) => Kind::Held,
        Ok(Outcome::Waiting { .. }) => Kind::Waiting,
        Ok(Outcome::Busy { .. }) => Kind::Busy,
        Ok(Outcome::Evicted(claims)) => Kind::Evicted(claims.len()),
        Ok(Outcome::Transferring { .. }) => Kind::Transferring,
        Ok(Outcome::Transferred { .. }) => Kind::Transferred,
        Ok(Outcome::Updated(_)) => Kind::Updated,
        Ok(Outcome::Reconciled { absent, .. }) => {
            let mut lacks: Vec<(u64, Lack)> = absent.iter().map(|(number, why)| (*number, Lack::of(why))).collect();
            lacks.sort();
            Kind::Reconciled(lacks)
        }
        Ok(Outcome::Done | Outcome::Group(_)) => Kind::Done,
        Err(_) => Kind::Rejected,
    }
}
