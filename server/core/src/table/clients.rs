//! Clients in the table: reconciles what they have with what they want.

mod apply;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::client::{
    Absence, Change, Client, Declaration, DeclaredClaim, DeclaredMembership, DeclaredSession, Hello, Item,
};
use crate::command::{Actor, Outcome};
use crate::end::EndReason;
use crate::event::Event;
use crate::model::{
    Claim, ClaimSpec, ClaimState, Opening, Rank, Revision, ServerId, Session, SessionSpec, claim_bytes, no_labels,
};
use crate::names::Text;
use crate::rejection::Rejection;
use crate::table::Table;
use crate::table::acquire::check_room;
use crate::table::decide::{Decision, Events};

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
        let has = |number: &u64| self.clients.get(&id).is_some_and(|client| client.items.get(*number).is_some());
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
        let claims = found.items.claims().filter_map(|claim| self.claims.get(&claim));
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
        let order = |claim: Option<Revision>| ending_order(claim.and_then(|claim| self.claims.get(&claim)));
        let unwanted = found.items.numbers().filter(|(number, _)| !wanted.contains(number));
        // A session ends before what is in it, which has a greater number.
        let mut unwanted: Vec<_> = unwanted.map(|(number, claim)| (order(claim), number)).collect();
        unwanted.sort_unstable();
        for (_, number) in unwanted {
            self.withdraw(id, number, decided);
        }
    }

    /// Grants anew what a client has held since before the database lost history: others may have held it meanwhile,
    /// with higher tokens.
    fn grant_anew(&mut self, id: &Text, decided: &mut Events) {
        let Some(found) = self.clients.get(id).filter(|_| self.lost > Revision(0)) else { return };
        let claims = found.items.claims().filter_map(|claim| self.claims.get(&claim));
        let older = claims.filter_map(|claim| Some((claim.clone(), claim.token().filter(|token| *token < self.lost)?)));
        for (claim, token) in older.collect::<Vec<_>>() {
            let spec = claim.spec.clone();
            self.grant_again(claim, token, spec, decided);
        }
    }

    fn withdraw(&mut self, id: &Text, number: u64, decided: &mut Events) {
        let item = self.clients.get(id).and_then(|client| client.items.get(number));
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
            Some(Item::Session(id)) => return Ok((id, false)),
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
            min_hold: min_hold.into(),
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
    fn item(&self, client: &Declarer, number: u64) -> Result<Option<Item>, Absence> {
        let Some(found) = self.clients.get(client.id) else { return Err(Absence::Ended(None)) };
        match found.items.get(number) {
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
