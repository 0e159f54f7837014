//! What a read takes from the table. Nothing is decided meanwhile, so it takes what is there as it is, and leaves it to the reader
//! to put it into the contract's words.

use tenure_core::{Claim, DeadlockSearch, Lock, LockSettings, Text};
use tenure_proto::v1;

use super::convert;
use crate::sequencer::View;

/// The most waiters, and the most holders, that are listed of one lock.
const LISTED: usize = 100;

/// A lock as it was.
pub(crate) struct SeenLock {
    name: Text,
    holders: Vec<SeenClaim>,
    holder_count: usize,
    waiters: Vec<SeenClaim>,
    waiter_count: usize,
    limit: Option<u32>,
    settings: Option<LockSettings>,
}

/// A claim as it was, with what only the table knows of it.
pub(crate) struct SeenClaim {
    claim: Claim,
    /// When it was granted, in ms since 1970.
    granted_ms: Option<i64>,
    /// The session that it is to be handed to.
    to: Option<Text>,
    /// The sessions of the deadlock that it is in.
    deadlock: Vec<Text>,
}

impl SeenLock {
    /// The lock of this name, be it idle.
    pub(crate) fn named(name: &Text, view: &View<'_>, search: &mut DeadlockSearch) -> Self {
        Self::of(name, view.table.lock(name), view, search)
    }

    /// The lock of this name as the table has it, if it has it.
    pub(crate) fn of(name: &Text, lock: Option<&Lock>, view: &View<'_>, search: &mut DeadlockSearch) -> Self {
        let table = view.table;
        let mut see = |id| table.claim(id).map(|claim| SeenClaim::of(claim, view, search));
        let holders = lock.into_iter().flat_map(|lock| lock.holders().iter());
        let waiters = lock.into_iter().flat_map(|lock| lock.waiters());
        Self {
            name: name.clone(),
            holders: holders.take(LISTED).filter_map(|id| see(*id)).collect(),
            holder_count: lock.map_or(0, |lock| lock.holders().len()),
            waiters: waiters.take(LISTED).filter_map(|rank| see(rank.1)).collect(),
            waiter_count: lock.map_or(0, |lock| lock.waiters().len()),
            limit: table.limit(name),
            settings: table.settings(name).cloned(),
        }
    }

    /// Its name.
    pub(crate) fn name(&self) -> &Text {
        &self.name
    }
}

impl SeenClaim {
    /// A claim of the table that is viewed.
    pub(crate) fn of(claim: &Claim, view: &View<'_>, search: &mut DeadlockSearch) -> Self {
        let table = view.table;
        let session_of = |id| table.claim(id).map(|claim| claim.spec.session.clone());
        let to = claim.transfer.as_ref().and_then(|transfer| transfer.to);
        let deadlock = table.deadlock(claim.id, search).unwrap_or_default();
        Self {
            claim: claim.clone(),
            granted_ms: view.granted_ms(claim),
            to: to.and_then(session_of),
            deadlock: deadlock.into_iter().filter_map(session_of).collect(),
        }
    }

    /// Whether it is in a deadlock.
    pub(crate) fn is_deadlocked(&self) -> bool {
        !self.deadlock.is_empty()
    }
}

impl From<SeenLock> for v1::Lock {
    fn from(seen: SeenLock) -> Self {
        Self {
            name: seen.name.to_string(),
            holders: seen.holders.into_iter().map(v1::Claim::from).collect(),
            waiters: seen.waiters.into_iter().map(v1::Claim::from).collect(),
            waiter_count: seen.waiter_count as u64,
            limit: seen.limit.unwrap_or_default(),
            settings: seen.settings.as_ref().map(convert::settings),
            holder_count: seen.holder_count as u64,
        }
    }
}

impl From<SeenClaim> for v1::Claim {
    fn from(seen: SeenClaim) -> Self {
        let mut converted = convert::claim_since(&seen.claim, seen.granted_ms);
        if let (Some(transfer), Some(to)) = (&mut converted.transfer, seen.to) {
            transfer.to_session_id = to.to_string();
        }
        converted.deadlock = seen.deadlock.iter().map(ToString::to_string).collect();
        converted
    }
}
