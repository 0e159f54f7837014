//! The table: the state of one namespace, without any time in it.

mod acquire;
mod apply;
mod deadlock;
mod decide;
mod groups;
mod journal;
mod serve;
mod settings;
mod transfer;

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use crate::group::Group;
use crate::memory::Memory;
use crate::model::{Claim, ClaimState, Lock, LockSettings, Revision, ServerId, Session, Text};
use crate::rejection::Rejection;
use groups::Memberships;
use journal::Undo;

/// The state of one namespace: its open sessions, their claims, the locks that those are about, and its groups.
#[derive(Debug, Default)]
pub struct Table {
    revision: Revision,
    sessions: HashMap<Text, Session>,
    opened: BTreeMap<Revision, Text>,
    claims: BTreeMap<Revision, Claim>,
    locks: BTreeMap<Text, Lock>,
    /// What operators have set, where that is not the default.
    settings: BTreeMap<Text, LockSettings>,
    groups: BTreeMap<Text, Arc<Group>>,
    memberships: Memberships,
    /// How many open sessions and lingering claims each server is the home of.
    homes: BTreeMap<ServerId, usize>,
    memory: Memory,
    journal: Vec<Undo>,
    journaling: bool,
}

/// Two tables are equal if they hold the same state. What they remember of the past is for explanations only.
impl PartialEq for Table {
    fn eq(&self, other: &Self) -> bool {
        self.revision == other.revision
            && self.sessions == other.sessions
            && self.opened == other.opened
            && self.claims == other.claims
            && self.locks == other.locks
            && self.settings == other.settings
            && self.groups == other.groups
            && self.memberships == other.memberships
    }
}

impl Table {
    /// Restores a table from its parts at a revision. The `claims` of each session are filled in from `claims`.
    #[must_use]
    pub fn restore(
        revision: Revision,
        sessions: Vec<Session>,
        claims: Vec<Claim>,
        settings: Vec<(Text, LockSettings)>,
        groups: Vec<Arc<Group>>,
    ) -> Self {
        let settings = settings.into_iter().collect();
        let mut table = Self { revision, settings, ..Self::default() };
        for session in sessions {
            table.admit(Session { claims: BTreeMap::new(), ..session });
        }
        for claim in claims {
            table.enter(claim);
        }
        for group in groups {
            table.settle_group(group);
        }
        table
    }

    /// The namespace's revision.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The open session of this id.
    #[must_use]
    pub fn session(&self, id: &str) -> Option<&Session> {
        self.sessions.get(id)
    }

    /// The open session of this id.
    ///
    /// # Errors
    /// If it is not open, with the reason as far as it is remembered.
    pub fn find_session(&self, id: &Text) -> Result<&Session, Rejection> {
        self.sessions.get(id).ok_or_else(|| match self.memory.end_of_session(id) {
            Some(reason) => Rejection::SessionEnded { session: id.clone(), reason },
            None => Rejection::SessionNotFound { session: id.clone() },
        })
    }

    /// The open session that was opened at this revision.
    #[must_use]
    pub fn session_opened_at(&self, opened: Revision) -> Option<&Session> {
        self.sessions.get(self.opened.get(&opened)?)
    }

    /// The open sessions that were opened after a revision, oldest first.
    pub fn sessions_after(&self, opened: Revision) -> impl Iterator<Item = &Session> {
        let later = self.opened.range((Bound::Excluded(opened), Bound::Unbounded));
        later.filter_map(|(_, id)| self.sessions.get(id))
    }

    /// The claim of this id.
    #[must_use]
    pub fn claim(&self, id: Revision) -> Option<&Claim> {
        self.claims.get(&id)
    }

    /// All claims in the order in which they were made.
    pub fn claims(&self) -> impl Iterator<Item = &Claim> {
        self.claims.values()
    }

    /// The claims that were made after a revision, in order.
    pub fn claims_after(&self, id: Revision) -> impl Iterator<Item = &Claim> {
        self.claims.range((Bound::Excluded(id), Bound::Unbounded)).map(|(_, claim)| claim)
    }

    /// A lock, unless it is idle.
    #[must_use]
    pub fn lock(&self, name: &str) -> Option<&Lock> {
        self.locks.get(name)
    }

    /// The locks that are not idle and whose name starts with `prefix`, after the name `after`, in byte order.
    pub fn locks_after<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&str>,
    ) -> impl Iterator<Item = (&'a Text, &'a Lock)> + use<'a> {
        let start = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            _ => Bound::Included(prefix),
        };
        self.locks.range::<str, _>((start, Bound::Unbounded)).take_while(move |(name, _)| name.starts_with(prefix))
    }

    /// The servers that are the home of something: an open session, or a minimum hold to be counted.
    pub fn homes(&self) -> impl Iterator<Item = ServerId> {
        self.homes.keys().copied()
    }

    /// The claim with which a session claims exactly these names.
    fn claim_of(&self, session: &Session, names: &[Text]) -> Option<&Claim> {
        let claim = self.claims.get(session.claims.get(names.first()?)?)?;
        (claim.spec.names == names).then_some(claim)
    }

    /// Puts a session into the table.
    fn admit(&mut self, session: Session) {
        self.move_home(None, Some(session.spec.home));
        self.opened.insert(session.opened, session.spec.id.clone());
        self.sessions.insert(session.spec.id.clone(), session);
    }

    /// The reverse of [`Self::admit`].
    fn dismiss(&mut self, id: &str) -> Option<Session> {
        let session = self.sessions.remove(id)?;
        self.opened.remove(&session.opened);
        self.move_home(Some(session.spec.home), None);
        Some(session)
    }

    /// Counts something that moves from one home to another, or comes, or goes.
    fn move_home(&mut self, from: Option<ServerId>, to: Option<ServerId>) {
        if let Some(to) = to {
            *self.homes.entry(to).or_default() += 1;
        }
        if let Some(from) = from
            && let Some(count) = self.homes.get_mut(&from)
        {
            *count -= 1;
            if *count == 0 {
                self.homes.remove(&from);
            }
        }
    }

    /// Puts a claim where it belongs: into its session, and into its locks.
    fn enter(&mut self, claim: Claim) {
        let rank = claim.rank();
        for name in &claim.spec.names {
            let lock = self.locks.entry(name.clone()).or_default();
            match claim.state {
                ClaimState::Waiting => {
                    lock.waiters.insert(rank);
                }
                ClaimState::Held { .. } | ClaimState::Lingering { .. } => {
                    lock.holders.insert(claim.id);
                    lock.permits += u64::from(claim.spec.mode.permits());
                }
            }
        }
        if let ClaimState::Lingering { home, .. } = claim.state {
            self.move_home(None, Some(home));
        } else if let Some(session) = self.sessions.get_mut(&claim.spec.session) {
            for name in &claim.spec.names {
                session.claims.insert(name.clone(), claim.id);
            }
        }
        self.claims.insert(claim.id, claim);
    }

    /// The reverse of [`Self::enter`].
    fn leave(&mut self, id: Revision) -> Option<Claim> {
        let claim = self.claims.remove(&id)?;
        let rank = claim.rank();
        for name in &claim.spec.names {
            if let Some(lock) = self.locks.get_mut(name) {
                match claim.state {
                    ClaimState::Waiting => {
                        lock.waiters.remove(&rank);
                    }
                    ClaimState::Held { .. } | ClaimState::Lingering { .. } => {
                        lock.holders.remove(&id);
                        lock.permits -= u64::from(claim.spec.mode.permits());
                    }
                }
                if lock.holders.is_empty() && lock.waiters.is_empty() {
                    self.locks.remove(name);
                }
            }
        }
        if let ClaimState::Lingering { home, .. } = claim.state {
            self.move_home(Some(home), None);
        } else if let Some(session) = self.sessions.get_mut(&claim.spec.session) {
            for name in &claim.spec.names {
                session.claims.remove(name);
            }
        }
        Some(claim)
    }
}

/// Whether this server counts the claim's minimum hold.
fn lingers_at(claim: &Claim, server: ServerId) -> bool {
    matches!(claim.state, ClaimState::Lingering { home, .. } if home == server)
}
