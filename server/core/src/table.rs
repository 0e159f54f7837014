//! The state of one namespace, without any time in it.

mod acquire;
mod apply;
mod census;
mod clients;
mod deadlock;
mod decide;
mod ended_by;
mod groups;
mod journal;
mod locks;
mod memory;
mod serve;
mod settings;
#[cfg(test)]
mod tests;
mod totals;
mod transfer;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ascending::Ascending;
use crate::client::{Client, Item, Items};
use crate::group::Group;
use crate::lock::Lock;
use crate::map::Map;
use crate::model::{Claim, ClaimSpec, ClaimState, LockSettings, Revision, ServerId, Session, SessionSpec};
use crate::names::Text;
use crate::rejection::Rejection;
use census::{Census, Counted, counted_as};
pub use deadlock::DeadlockSearch;
use groups::Memberships;
use journal::Undo;
use locks::Locks;
use memory::Memory;
pub use totals::Totals;

/// A count for each server that has any.
type Counts = BTreeMap<ServerId, usize>;

/// The state of one namespace: its clients, its open sessions, their claims, the claimed locks, and its groups.
#[derive(Debug, Default)]
pub struct Table {
    revision: Revision,
    /// The last history loss of the database: earlier grants may have been released since.
    lost: Revision,
    clients: Map<Text, Client>,
    sessions: Map<Text, Session>,
    opened: Ascending<(Revision, Text)>,
    claims: Ascending<Claim>,
    locks: Locks,
    /// The settings made by operators, where they are not the default.
    settings: BTreeMap<Text, LockSettings>,
    groups: BTreeMap<Text, Arc<Group>>,
    memberships: Memberships,
    census: Census,
    /// The number of open sessions and lingering claims that each server is the home of.
    homes: Counts,
    /// The number of clients that each server is the home of.
    connected: Counts,
    /// The number of claims that are awaited by calls at each server.
    awaited: Counts,
    /// The part of the [`Totals`] that is counted incrementally.
    counted: Totals,
    memory: Memory,
    journal: Vec<Undo>,
    journaling: bool,
}

/// Two tables are equal if they hold the same state. Their memory of the past serves explanations only.
impl PartialEq for Table {
    fn eq(&self, other: &Self) -> bool {
        self.revision == other.revision
            && self.lost == other.lost
            && self.clients == other.clients
            && self.sessions == other.sessions
            && self.opened == other.opened
            && self.claims == other.claims
            && self.locks == other.locks
            && self.settings == other.settings
            && self.groups == other.groups
            && self.memberships == other.memberships
            && self.census == other.census
            && self.homes == other.homes
            && self.connected == other.connected
            && self.awaited == other.awaited
    }
}

impl Table {
    /// Restores a table from its parts at a revision. The `claims` of each session are filled in from `claims`, the
    /// `items` of each client from all the rest. The home of a declared session is that of its client.
    #[must_use]
    pub fn restore(
        revision: Revision,
        lost: Revision,
        clients: Vec<Client>,
        sessions: Vec<Session>,
        mut claims: Vec<Claim>,
        settings: Vec<(Text, LockSettings)>,
        groups: Vec<Arc<Group>>,
    ) -> Self {
        let settings = settings.into_iter().collect();
        claims.sort_unstable_by_key(|claim| claim.id);
        let locks = Locks::of(&claims);
        let mut table = Self { revision, lost, settings, locks, ..Self::default() };
        table.memory.begin_after(revision);
        for client in clients {
            table.insert_client(Client { items: Items::default(), ..client });
        }
        for Session { mut spec, opened, .. } in sessions {
            let client = spec.client.as_ref().and_then(|client| table.clients.get(client));
            spec.home = client.map_or(spec.home, |client| client.home);
            table.admit(Session::new(spec, opened));
        }
        for claim in claims {
            table.add(claim);
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

    /// The revision of the last [`HistoryLost`](crate::Event::HistoryLost); 0 if there was none.
    #[must_use]
    pub fn lost(&self) -> Revision {
        self.lost
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
            None => Rejection::SessionNotFound(id.clone()),
        })
    }

    /// The open session that was opened at this revision.
    #[must_use]
    pub fn session_opened_at(&self, opened: Revision) -> Option<&Session> {
        self.sessions.get(self.opened.get(&opened)?)
    }

    /// The open sessions that were opened after a revision, oldest first.
    pub fn sessions_after(&self, opened: Revision) -> impl Iterator<Item = &Session> {
        self.opened.after(opened).filter_map(|(_, id)| self.sessions.get(id))
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
        self.claims.after(id).map(|(_, claim)| claim)
    }

    /// The claims of an open session, in the order of the requests.
    pub fn claims_of(&self, session: &Session) -> impl Iterator<Item = &Claim> {
        session.claims.iter().filter_map(|id| self.claims.get(id))
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
        self.locks.after(prefix, after)
    }

    /// The servers that are the home of open sessions or of minimum holds to be counted, and the number of these.
    pub fn homes(&self) -> impl Iterator<Item = (ServerId, usize)> {
        self.homes.iter().map(|(server, count)| (*server, *count))
    }

    /// The servers with anything to adopt if they die: clients, sessions and minimum holds that they are the home of, or
    /// waiting calls.
    pub fn servers(&self) -> impl Iterator<Item = ServerId> {
        self.homes.keys().chain(self.connected.keys()).chain(self.awaited.keys()).copied()
    }

    /// The claims that a session has on a name: several only if they were declared.
    fn claims_on(&self, session: &Session, name: &str) -> impl Iterator<Item = &Claim> {
        let claims = self.locks.get(name).into_iter().flat_map(|lock| lock.claims_of(session.opened));
        let claims = claims.filter_map(|claim| self.claims.get(&claim));
        claims.filter(|claim| claim.spec.opened == session.opened && !claim.lingers())
    }

    /// The claim that a session has on a name.
    fn claim_on(&self, session: &Session, name: &str) -> Option<&Claim> {
        self.claims_on(session, name).next()
    }

    /// The claim of a session to exactly these names.
    fn claim_of(&self, session: &Session, names: &[Text]) -> Option<&Claim> {
        self.claim_on(session, names.first()?).filter(|claim| *claim.spec.names == *names)
    }

    /// Adds a session.
    fn admit(&mut self, session: Session) {
        self.note(Undo::SessionInserted(session.spec.id.clone()));
        count(&mut self.homes, None, Some(session.spec.home));
        self.census.add(session.spec.identity.as_ref(), Counted::Session);
        let (client, item) = (session.spec.client.as_ref(), Item::Session(session.spec.id.clone()));
        self.set_item(client, session.spec.declared, Some(item));
        self.opened.insert((session.opened, session.spec.id.clone()));
        self.sessions.insert(session.spec.id.clone(), session);
    }

    /// The reverse of [`Self::admit`].
    fn dismiss(&mut self, id: &str) {
        let Some(session) = self.sessions.swap_remove(id) else { return };
        self.opened.remove(&session.opened);
        self.set_item(session.spec.client.as_ref(), session.spec.declared, None);
        count(&mut self.homes, Some(session.spec.home), None);
        self.census.remove(session.spec.identity.as_ref(), Counted::Session);
        self.note(Undo::SessionRemoved(session));
    }

    /// Adds a claim, also to its session and its locks.
    fn enter(&mut self, claim: Claim) {
        self.locks.enter(&claim, |id| self.claims.get(&id));
        self.add(claim);
    }

    /// Adds a claim, also to its session, after it has been added to its locks.
    fn add(&mut self, mut claim: Claim) {
        self.note(Undo::ClaimEntered(claim.id));
        if let Some(count) = self.counted.of(&claim) {
            *count += 1;
        }
        count(&mut self.awaited, None, waits_at(&claim));
        if let ClaimState::Lingering { home, .. } = claim.state {
            count(&mut self.homes, None, Some(home));
        } else if let Some(session) = self.sessions.get_mut(&claim.spec.session) {
            session.claims.insert(claim.id);
            session.claim_bytes += claim.spec.message_bytes();
            counted_as(&claim).for_each(|counted| self.census.add(session.spec.identity.as_ref(), counted));
            share_texts(&mut claim.spec, &session.spec);
            let client = session.spec.client.clone();
            self.set_item(client.as_ref(), claim.spec.declared, Some(Item::Claim(claim.id)));
        }
        self.claims.insert(claim);
    }

    /// The reverse of [`Self::enter`].
    fn leave(&mut self, id: Revision) {
        let Some(claim) = self.claims.remove(&id) else { return };
        if let Some(count) = self.counted.of(&claim) {
            *count -= 1;
        }
        self.locks.leave(&claim);
        count(&mut self.awaited, waits_at(&claim), None);
        if let ClaimState::Lingering { home, .. } = claim.state {
            count(&mut self.homes, Some(home), None);
        } else if let Some(session) = self.sessions.get_mut(&claim.spec.session) {
            session.claims.remove(&id);
            session.claim_bytes -= claim.spec.message_bytes();
            counted_as(&claim).for_each(|counted| self.census.remove(session.spec.identity.as_ref(), counted));
            let client = session.spec.client.clone();
            self.set_item(client.as_ref(), claim.spec.declared, None);
        }
        self.note(Undo::ClaimLeft(claim));
    }
}

/// Makes a loaded claim share its texts with its session, as claims that are made here do.
fn share_texts(claim: &mut Arc<ClaimSpec>, session: &SessionSpec) {
    if !Text::ptr_eq(&claim.session, &session.id) {
        let claim = Arc::make_mut(claim);
        claim.session = session.id.clone();
        if claim.owner == session.owner {
            claim.owner = session.owner.clone();
        }
    }
}

/// The server at which a call waits for a claim.
fn waits_at(claim: &Claim) -> Option<ServerId> {
    claim.spec.waiting_server.filter(|_| claim.state == ClaimState::Waiting)
}

/// Counts an item that moves from one server to another, is added, or is removed.
fn count(counts: &mut Counts, from: Option<ServerId>, to: Option<ServerId>) {
    if let Some(to) = to {
        *counts.entry(to).or_default() += 1;
    }
    if let Some(from) = from
        && let Some(count) = counts.get_mut(&from)
    {
        *count -= 1;
        if *count == 0 {
            counts.remove(&from);
        }
    }
}

/// Whether this server counts the claim's minimum hold.
fn lingers_at(claim: &Claim, server: ServerId) -> bool {
    matches!(claim.state, ClaimState::Lingering { home, .. } if home == server)
}
