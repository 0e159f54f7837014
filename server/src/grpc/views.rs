//! Copies of table state that reads take. No command is decided meanwhile, so a read copies core types as they are, and
//! leaves their conversion into messages to the reader.

use tenure_core::{Claim, DeadlockSearch, Lock, LockSettings, Revision, Session, SessionSpec, Text, metadata_bytes};
use tenure_proto::v1;

use super::convert;
use crate::limits;
use crate::sequencer::View;

/// Maximum number of waiters, and of holders, listed per lock, and of claims per session in a list.
const LISTED: usize = 100;

/// Maximum number of sessions listed per deadlock.
const CIRCLE: usize = 100;

/// Approximate size of a lock or session in a message without its texts and claims, in bytes.
const ENTRY: usize = 64;

/// A lock as of the read.
pub(crate) struct LockView {
    name: Text,
    holders: Vec<ClaimView>,
    holder_count: usize,
    waiters: Vec<ClaimView>,
    waiter_count: usize,
    limit: Option<u32>,
    settings: Option<LockSettings>,
}

/// A claim as of the read, with data that only the table has.
pub(crate) struct ClaimView {
    claim: Claim,
    /// When it was granted, in ms since 1970.
    granted_ms: Option<i64>,
    /// The session that it is to be handed over to.
    to: Option<Text>,
    /// The sessions of the deadlock that it is in.
    deadlock: Vec<Text>,
}

impl LockView {
    /// The lock with this name, even if it is idle.
    pub(crate) fn named(name: &Text, view: &View<'_>, search: &mut DeadlockSearch) -> Self {
        Self::of(name, view.table.lock(name), view, search)
    }

    /// The lock with this name, with its state in the table, if any.
    pub(crate) fn of(name: &Text, lock: Option<&Lock>, view: &View<'_>, search: &mut DeadlockSearch) -> Self {
        let table = view.table;
        let holders = lock.into_iter().flat_map(|lock| lock.holders().iter().copied());
        let waiters = lock.into_iter().flat_map(|lock| lock.waiters().iter().map(|rank| rank.1));
        Self {
            name: name.clone(),
            holders: listed(holders.take(LISTED), limits::LISTED_CLAIMS, view, search),
            holder_count: lock.map_or(0, |lock| lock.holders().len()),
            waiters: listed(waiters.take(LISTED), limits::LISTED_CLAIMS, view, search),
            waiter_count: lock.map_or(0, |lock| lock.waiters().len()),
            limit: table.limit(name),
            settings: table.settings(name).cloned(),
        }
    }

    /// Approximate size in a message, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let claims = self.holders.iter().chain(&self.waiters).map(ClaimView::bytes);
        ENTRY + self.name.len() + claims.sum::<usize>()
    }
}

/// A session as of the read.
pub(crate) struct SessionView {
    spec: SessionSpec,
    opened: Revision,
    claims: Vec<ClaimView>,
    claim_count: usize,
}

impl SessionView {
    /// A session in a list: with the first of its claims.
    pub(crate) fn of(session: &Session, view: &View<'_>, search: &mut DeadlockSearch) -> Self {
        let claims = session.claims.iter().copied().take(LISTED);
        Self::with(session, listed(claims, limits::LISTED_CLAIMS, view, search))
    }

    /// A single session: with as many of its claims after `after` as fit into a message.
    pub(crate) fn after(after: Revision, session: &Session, view: &View<'_>) -> Self {
        let claims = session.claims.iter().copied().filter(|claim| *claim > after);
        Self::with(session, listed(claims, limits::PAGE, view, &mut DeadlockSearch::default()))
    }

    fn with(session: &Session, claims: Vec<ClaimView>) -> Self {
        let (spec, opened, claim_count) = (session.spec.clone(), session.opened, session.claims.len());
        Self { spec, opened, claims, claim_count }
    }

    /// Approximate size in a message, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let spec = &self.spec;
        let texts = spec.id.len() + spec.owner.len() + metadata_bytes(&spec.metadata);
        ENTRY + texts + self.claims.iter().map(ClaimView::bytes).sum::<usize>()
    }
}

/// Copies these claims, up to `most` bytes but at least one.
fn listed(
    claims: impl Iterator<Item = Revision>,
    most: usize,
    view: &View<'_>,
    search: &mut DeadlockSearch,
) -> Vec<ClaimView> {
    let mut bytes = 0;
    let views = claims.filter_map(|id| view.table.claim(id)).map(|claim| ClaimView::of(claim, view, search));
    views
        .take_while(|claim| {
            let fits = bytes == 0 || bytes + claim.bytes() <= most;
            bytes += claim.bytes();
            fits
        })
        .collect()
}

impl ClaimView {
    /// Copies a claim of the viewed table.
    pub(crate) fn of(claim: &Claim, view: &View<'_>, search: &mut DeadlockSearch) -> Self {
        let table = view.table;
        let session_of = |id| table.claim(id).map(|claim| claim.spec.session.clone());
        let to = claim.transfer.as_ref().and_then(|transfer| transfer.to);
        let deadlock = table.deadlock(claim.id, search).unwrap_or_default();
        Self {
            claim: claim.clone(),
            granted_ms: view.granted_ms(claim),
            to: to.and_then(session_of),
            deadlock: deadlock.into_iter().take(CIRCLE).filter_map(session_of).collect(),
        }
    }

    /// Approximate size in a message, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.claim.spec.message_bytes() + self.deadlock.iter().map(|session| session.len()).sum::<usize>()
    }

    /// Whether it is in a deadlock.
    pub(crate) fn is_deadlocked(&self) -> bool {
        !self.deadlock.is_empty()
    }
}

impl From<LockView> for v1::Lock {
    fn from(view: LockView) -> Self {
        Self {
            name: view.name.to_string(),
            holders: view.holders.into_iter().map(v1::Claim::from).collect(),
            waiters: view.waiters.into_iter().map(v1::Claim::from).collect(),
            waiter_count: view.waiter_count as u64,
            limit: view.limit.unwrap_or_default(),
            settings: view.settings.as_ref().map(convert::settings),
            holder_count: view.holder_count as u64,
        }
    }
}

impl From<SessionView> for v1::Session {
    fn from(view: SessionView) -> Self {
        let claims = view.claims.into_iter().map(v1::Claim::from).collect();
        Self { claim_count: view.claim_count as u64, ..convert::session(&view.spec, view.opened, claims) }
    }
}

impl From<ClaimView> for v1::Claim {
    fn from(view: ClaimView) -> Self {
        let mut converted = convert::claim_since(&view.claim, view.granted_ms);
        if let (Some(transfer), Some(to)) = (&mut converted.transfer, view.to) {
            transfer.to_session_id = to.to_string();
        }
        converted.deadlock = view.deadlock.iter().map(ToString::to_string).collect();
        converted
    }
}
