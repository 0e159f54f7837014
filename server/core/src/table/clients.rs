//! Clients in the table: reconciles what they have with what they want.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::client::{
    Absence, Change, Client, Declaration, DeclaredClaim, DeclaredMembership, DeclaredSession, Hello, Item, Membership,
};
use crate::command::{Actor, Outcome};
use crate::end::EndReason;
use crate::event::Event;
use crate::model::{
    Claim, ClaimSpec, ClaimState, Opening, Rank, Revision, ServerId, Session, SessionSpec, claim_bytes, no_labels,
};
use crate::names::Text;
use crate::rejection::Rejection;
use crate::table::acquire::check_room;
use crate::table::decide::{Decision, Events};
use crate::table::journal::Undo;
use crate::table::{Table, count};

/// What a client does not have, by number, and why.
type Absences = Vec<(u64, Absence)>;

/// The client whose changes are decided.
struct Declarer<'a> {
    id: &'a Text,
    home: ServerId,
    identity: Option<Text>,
    actor: Option<&'a Actor>,
}

impl Table {
    /// The client of this id, connected or not.
    #[must_use]
    pub fn client(&self, id: &str) -> Option<&Client> {
        self.clients.get(id)
    }

    /// All clients, in no particular order.
    pub fn clients(&self) -> impl Iterator<Item = &Client> {
        self.clients.values()
    }

    pub(super) fn connect(&mut self, hello: Hello, actor: Option<&Actor>, decided: &mut Events) -> Decision {
        let Hello { client: id, epoch, home, received, identity, known, declared } = hello;
        self.check_client_of(&id, identity.as_ref())?;
        match self.clients.get(&id) {
            Some(found) if found.epoch >= epoch => return Err(Rejection::ClientSuperseded(id)),
            None if self.memory.client_ended_after(&id, received) => return Err(Rejection::ClientEnded(id)),
            _ => {}
        }
        let connected = Event::ClientConnected { client: id.clone(), epoch, home, identity };
        self.emit(connected, decided);
        self.withdraw_all_but(&id, &known, &declared, decided);
        let has = |number: &u64| self.clients.get(&id).is_some_and(|client| client.items.get(number).is_some());
        let mut absent: Absences =
            known.into_iter().filter(|number| !has(number)).map(|number| (number, self.ended(&id, number))).collect();
        self.grant_anew(&id, decided);
        let declarer = self.declarer(&id, home, actor);
        for declaration in declared {
            self.declare(&declarer, declaration, decided, &mut absent);
        }
        Ok(Outcome::Reconciled { absent, lost: self.lost })
    }

    pub(super) fn change_client(
        &mut self,
        id: &Text,
        (epoch, home): (u64, ServerId),
        changes: Vec<Change>,
        actor: Option<&Actor>,
        decided: &mut Events,
    ) -> Decision {
        self.check_client_of(id, actor.map(|actor| &actor.identity))?;
        self.connected(id, epoch, home).ok_or_else(|| Rejection::ClientSuperseded(id.clone()))?;
        let declarer = self.declarer(id, home, actor);
        let mut absent = Absences::new();
        for change in changes {
            match change {
                Change::Declare(declaration) => self.declare(&declarer, declaration, decided, &mut absent),
                Change::Withdraw(number) => self.withdraw(id, number, decided),
            }
        }
        Ok(Outcome::Reconciled { absent, lost: self.lost })
    }

    /// Ends what a disconnected client does not know that it has.
    pub(super) fn abandon_client(
        &mut self,
        id: &Text,
        (epoch, home): (u64, ServerId),
        since: Revision,
        decided: &mut Events,
    ) {
        let Some(found) = self.connected(id, epoch, home) else { return };
        let claims = found.claims().filter_map(|claim| self.claims.get(&claim));
        let unknown = claims.filter(|claim| claim.token().is_none_or(|token| token > since));
        let mut abandoned: Vec<_> = unknown.map(|claim| (ending_order(Some(claim)), claim.id)).collect();
        abandoned.sort_unstable();
        for (_, claim) in abandoned {
            self.end_claim(claim, EndReason::Disconnected, None, decided);
        }
    }

    pub(super) fn end_client(&mut self, id: &Text, epoch: u64, home: ServerId, decided: &mut Events) {
        if self.connected(id, epoch, home).is_some_and(|found| found.items.is_empty()) {
            self.emit(Event::ClientEnded { client: id.clone() }, decided);
        }
    }

    /// Rejects the client of another identity.
    fn check_client_of(&self, id: &Text, identity: Option<&Text>) -> Result<(), Rejection> {
        let before = self.clients.get(id).and_then(|found| found.identity.as_ref());
        match before.zip(identity) {
            Some((before, now)) if before != now => Err(Rejection::ClientOfAnother(id.clone())),
            _ => Ok(()),
        }
    }

    /// A client that declares something. Its sessions belong to the caller's identity, like those that calls open: the
    /// client may have connected first when no authentication was required.
    fn declarer<'a>(&self, id: &'a Text, home: ServerId, actor: Option<&'a Actor>) -> Declarer<'a> {
        let of_client = || self.clients.get(id).and_then(|found| found.identity.clone());
        let identity = actor.map(|actor| actor.identity.clone()).or_else(of_client);
        Declarer { id, home, identity, actor }
    }

    /// The client, if its last stream has this epoch and is, or was, at this server.
    fn connected(&self, id: &Text, epoch: u64, home: ServerId) -> Option<&Client> {
        self.clients.get(id).filter(|found| (found.epoch, found.home) == (epoch, home))
    }

    /// Withdraws what a client neither knows nor declares.
    fn withdraw_all_but(&mut self, id: &Text, known: &[u64], declared: &[Declaration], decided: &mut Events) {
        let Some(found) = self.clients.get(id) else { return };
        let wanted: BTreeSet<u64> =
            known.iter().copied().chain(declared.iter().flat_map(Declaration::numbers)).collect();
        let order = |item: &Item| match item {
            Item::Claim(claim) => ending_order(self.claims.get(claim)),
            Item::Session(_) | Item::Membership(_) => ending_order(None),
        };
        let unwanted = found.items.iter().filter(|(number, _)| !wanted.contains(number));
        // A session ends before what is in it, which has a greater number.
        let mut unwanted: Vec<_> = unwanted.map(|(number, item)| (order(item), *number)).collect();
        unwanted.sort_unstable();
        for (_, number) in unwanted {
            self.withdraw(id, number, decided);
        }
    }

    /// Grants anew what a client has held since before the database lost history: others may have held it meanwhile,
    /// with higher tokens.
    fn grant_anew(&mut self, id: &Text, decided: &mut Events) {
        let Some(found) = self.clients.get(id).filter(|_| self.lost > Revision(0)) else { return };
        let claims = found.claims().filter_map(|claim| self.claims.get(&claim));
        let older = claims.filter_map(|claim| Some((claim.clone(), claim.token().filter(|token| *token < self.lost)?)));
        for (claim, token) in older.collect::<Vec<_>>() {
            let spec = claim.spec.clone();
            self.grant_again(claim, token, spec, decided);
        }
    }

    fn withdraw(&mut self, id: &Text, number: u64, decided: &mut Events) {
        let item = self.clients.get(id).and_then(|client| client.items.get(&number)).cloned();
        match item {
            Some(Item::Session(session)) => {
                self.confirm_transfers(&session, decided);
                self.end_session(&session, EndReason::Closed, decided);
            }
            Some(Item::Claim(claim)) => {
                if let Some(claim) = self.claims.get(&claim).cloned() {
                    self.leave_or_release(&claim, decided);
                }
            }
            Some(Item::Membership(of)) => drop(self.leave_group(&of.group, &of.session, None, decided)),
            None => {}
        }
    }

    /// Hands over what the holder was asked for: closing its session confirms that like a release.
    fn confirm_transfers(&mut self, session: &Text, decided: &mut Events) {
        let Some(found) = self.sessions.get(session) else { return };
        let asked: Vec<Claim> = self.claims_of(found).filter(|claim| claim.transfer.is_some()).cloned().collect();
        for claim in asked {
            self.leave_or_release(&claim, decided);
        }
    }

    /// Makes what is declared. A session opened for a claim that is then found to be busy is not opened after all: a
    /// failed try leaves no trace.
    fn declare(&mut self, client: &Declarer, declaration: Declaration, decided: &mut Events, absent: &mut Absences) {
        let numbers: Vec<u64> = declaration.numbers().collect();
        let mark = self.mark(decided);
        let Declaration { session: number, opening, claims, memberships } = declaration;
        let mut lacks = Absences::new();
        let declared = self.declare_session(client, number, opening, decided).and_then(|(id, is_new)| {
            for claim in claims {
                let number = claim.number;
                match self.declare_claim(client, &id, claim, decided) {
                    Err(busy @ Absence::Busy { .. }) if is_new => return Err(busy),
                    result => lacks.extend(result.err().map(|absence| (number, absence))),
                }
            }
            for membership in memberships {
                let number = membership.number;
                let result = self.declare_membership(client, &id, membership, decided);
                lacks.extend(result.err().map(|absence| (number, absence)));
            }
            Ok(())
        });
        match declared {
            Ok(()) => absent.extend(lacks),
            Err(absence) => {
                self.undo_to(&mark, decided);
                absent.extend(numbers.into_iter().map(|number| (number, absence.clone())));
            }
        }
    }

    /// Opens a declared session, unless it is open. Returns its id, and whether it was opened now.
    fn declare_session(
        &mut self,
        client: &Declarer,
        number: u64,
        opening: Option<DeclaredSession>,
        decided: &mut Events,
    ) -> Result<(Text, bool), Absence> {
        match self.item(client, number)? {
            Some(Item::Session(id)) => return Ok((id.clone(), false)),
            Some(_) => return Err(Absence::Ended(None)),
            None => {}
        }
        let DeclaredSession { id, disconnect_grace, opening } = opening.ok_or(Absence::Ended(None))?;
        if self.sessions.contains_key(&id) {
            return Err(Absence::Rejected(Rejection::SessionInUse(id)));
        }
        self.check_session_limit(client.actor)?;
        let Opening { ttl, owner, metadata, .. } = opening;
        let (home, identity, by) = (client.home, client.identity.clone(), Some(client.id.clone()));
        let spec = SessionSpec {
            id: id.clone(),
            ttl,
            disconnect_grace,
            owner,
            metadata,
            home,
            identity,
            client: by,
            declared: number,
        };
        self.emit(Event::SessionOpened(Arc::new(spec)), decided);
        Ok((id, true))
    }

    fn declare_claim(
        &mut self,
        client: &Declarer,
        session: &Text,
        claim: DeclaredClaim,
        decided: &mut Events,
    ) -> Result<(), Absence> {
        match self.item(client, claim.number)? {
            Some(Item::Claim(_)) => return Ok(()),
            Some(_) => return Err(Absence::Ended(None)),
            None => {}
        }
        let mode = self.mode(&claim.names, claim.mode)?;
        let blocker = self.blocker(&claim.names, mode, Rank::of_new(claim.priority)).cloned();
        let blocker = match blocker {
            Some(blocker) if !claim.queue => return Err(Absence::Busy { blocker: Box::new(blocker) }),
            blocker => blocker,
        };
        self.check_claim_limits(client.actor, blocker.is_some())?;
        let found = self.find_session(session)?;
        let Session { spec: SessionSpec { id, owner, .. }, opened, .. } = found;
        check_room(found, claim_bytes([id, owner], &claim.names, &claim.metadata))?;
        let (session, owner, opened) = (id.clone(), owner.clone(), *opened);
        let DeclaredClaim { number: declared, names, priority, metadata, min_hold, .. } = claim;
        let (metadata, waiting_server) = (if metadata.is_empty() { no_labels() } else { metadata }, None);
        let spec = Arc::new(ClaimSpec {
            session,
            opened,
            owner,
            names,
            mode,
            priority,
            metadata,
            min_hold,
            waiting_server,
            declared,
        });
        let event = match blocker {
            None => Event::ClaimGranted { claim: self.revision.next(), spec },
            Some(_) => Event::ClaimQueued(spec),
        };
        self.emit(event, decided);
        Ok(())
    }

    fn declare_membership(
        &mut self,
        client: &Declarer,
        session: &Text,
        membership: DeclaredMembership,
        decided: &mut Events,
    ) -> Result<(), Absence> {
        let DeclaredMembership { number, group, metadata } = membership;
        match self.item(client, number)? {
            Some(Item::Membership(_)) => return Ok(()),
            Some(_) => return Err(Absence::Ended(None)),
            None => {}
        }
        if self.membership(session, &group).is_some() {
            let session = session.clone();
            return Err(Absence::Rejected(Rejection::MembershipOverlap { group, session }));
        }
        self.check_membership_limit(client.actor)?;
        self.become_member(&group, session, metadata, number, decided)?;
        Ok(())
    }

    /// What the client has with this number. An absent one must not have been used.
    fn item(&self, client: &Declarer, number: u64) -> Result<Option<&Item>, Absence> {
        let Some(found) = self.clients.get(client.id) else { return Err(Absence::Ended(None)) };
        match found.items.get(&number) {
            None if number <= found.last => Err(self.ended(client.id, number)),
            item => Ok(item),
        }
    }

    fn ended(&self, client: &Text, number: u64) -> Absence {
        Absence::Ended(self.memory.end_of_item(client, number))
    }

    /// Remembers why a client has lost what it has declared in a session, unless it has withdrawn that itself.
    pub(super) fn remember_item(&mut self, session: &Text, number: u64, reason: EndReason) {
        let found = self.sessions.get(session).filter(|_| number > 0);
        if let Some(client) = found.and_then(|found| found.spec.client.as_ref())
            && !matches!(reason, EndReason::Released | EndReason::Closed)
        {
            self.memory.item_ended(client, number, reason);
        }
    }

    /// Connects a client: it and its sessions have this home from now on.
    pub(super) fn admit_client(&mut self, id: &Text, epoch: u64, home: ServerId, identity: Option<&Text>) {
        let before = self.connection(id);
        match self.clients.get_mut(id) {
            Some(found) => found.epoch = epoch,
            None => {
                count(&mut self.connected, None, Some(home));
                let client = Client::new(id.clone(), epoch, home, identity.cloned());
                self.clients.insert(id.clone(), client);
            }
        }
        self.move_client(id, home);
        self.note(Undo::ClientConnected { client: id.clone(), before });
    }

    /// The epoch and the home of a client.
    pub(super) fn connection(&self, id: &Text) -> Option<(u64, ServerId)> {
        self.clients.get(id).map(|found| (found.epoch, found.home))
    }

    /// The reverse of [`Self::admit_client`].
    pub(super) fn undo_client(&mut self, id: &Text, before: Option<(u64, ServerId)>) {
        match (before, self.clients.get_mut(id)) {
            (Some((epoch, home)), Some(found)) => {
                found.epoch = epoch;
                self.move_client(id, home);
            }
            (None, Some(_)) => self.dismiss_client(id),
            (_, None) => {}
        }
    }

    /// Gives a client and all its sessions another home.
    pub(super) fn move_client(&mut self, id: &Text, home: ServerId) {
        let Some(client) = self.clients.get_mut(id).filter(|client| client.home != home) else { return };
        count(&mut self.connected, Some(client.home), Some(home));
        client.home = home;
        for session in client.sessions() {
            if let Some(session) = self.sessions.get_mut(session) {
                count(&mut self.homes, Some(session.spec.home), Some(home));
                session.spec.home = home;
            }
        }
    }

    pub(super) fn dismiss_client(&mut self, id: &Text) {
        let Some(client) = self.clients.swap_remove(id) else { return };
        count(&mut self.connected, Some(client.home), None);
        self.note(Undo::ClientEnded(client));
    }

    /// Adds a client that was loaded, or whose end is undone.
    pub(super) fn insert_client(&mut self, client: Client) {
        count(&mut self.connected, None, Some(client.home));
        self.clients.insert(client.id.clone(), client);
    }

    /// Records that a client has something by this number from now on, or no longer. Ignores what was not declared.
    pub(super) fn set_item(&mut self, client: Option<&Text>, number: u64, item: Option<Item>) {
        let Some(found) = client.filter(|_| number > 0).and_then(|id| self.clients.get_mut(id)) else { return };
        let before = found.last;
        match item {
            Some(item) => {
                found.items.remove(&number);
                found.items.insert(number, item);
                found.last = before.max(number);
            }
            None => drop(found.items.remove(&number)),
        }
        if found.last != before {
            let client = found.id.clone();
            self.note(Undo::ClientUsed { client, last: before });
        }
    }

    pub(super) fn undo_last(&mut self, client: &Text, last: u64) {
        if let Some(found) = self.clients.get_mut(client) {
            found.last = last;
        }
    }

    /// Records a membership as an item, in a way that can be undone.
    pub(super) fn note_membership(&mut self, session: &Text, group: &Text, number: u64, has: bool) {
        if number > 0 {
            self.set_membership_item(session, group, number, has);
            let (session, group) = (session.clone(), group.clone());
            self.note(Undo::MembershipItem { session, group, number, had: !has });
        }
    }

    /// A membership, as an item of the client that has declared its session.
    pub(super) fn set_membership_item(&mut self, session: &Text, group: &Text, number: u64, has: bool) {
        let client = self.sessions.get(session).and_then(|found| found.spec.client.as_ref()).cloned();
        let membership = || Item::Membership(Box::new(Membership { session: session.clone(), group: group.clone() }));
        self.set_item(client.as_ref(), number, has.then(membership));
    }
}

/// The order in which claims end together: waits first, the last in a queue before those ahead of it. None of them is
/// then granted what another one leaves.
fn ending_order(claim: Option<&Claim>) -> Reverse<Option<Rank>> {
    Reverse(claim.filter(|claim| claim.state == ClaimState::Waiting).map(Claim::rank))
}

impl From<Rejection> for Absence {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}
