//! Groups in the table: how commands change them.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use crate::command::Outcome;
use crate::end::EndReason;
use crate::event::Event;
use crate::group::{
    ATTACHED_BYTES, Assignments, Basis, GROUPS, Group, GroupChange, GroupCommand, GroupOutcome, Lead, MEMBERS,
    MEMBERSHIPS, MemberSpec,
};
use crate::map::Map;
use crate::model::{Metadata, Opening, Revision, ServerId, metadata_bytes};
use crate::names::Text;
use crate::rejection::Rejection;
use crate::table::Table;
use crate::table::census::Counted;
use crate::table::decide::Events;
use crate::table::journal::Undo;

type Decision = Result<GroupOutcome, Rejection>;

impl Table {
    /// A group, if it has members or a config.
    #[must_use]
    pub fn group(&self, name: &str) -> Option<&Arc<Group>> {
        self.groups.get(name)
    }

    /// The groups whose name starts with `prefix`, after the name `after`, in byte order.
    pub fn groups_after<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&str>,
    ) -> impl Iterator<Item = &'a Arc<Group>> + use<'a> {
        let start = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            _ => Bound::Included(prefix),
        };
        let later = self.groups.range::<str, _>((start, Bound::Unbounded));
        later.take_while(move |(name, _)| name.starts_with(prefix)).map(|(_, group)| group)
    }

    pub(super) fn decide_group(&mut self, command: GroupCommand, decided: &mut Events) -> Result<Outcome, Rejection> {
        let outcome = match command {
            GroupCommand::Join { group, session, opening, home, opened, metadata } => {
                self.check_opened(&session, opened)?;
                self.join(&group, &session, opening, home, metadata, decided)
            }
            GroupCommand::Leave { group, session, member } => self.leave_group(&group, &session, member, decided),
            GroupCommand::Configure { group, config, expected } => {
                self.configure_group(&group, config, expected, decided)
            }
            GroupCommand::Assign { group, session, token, basis, assignments } => {
                self.assign(group, session, token, basis, assignments, decided)
            }
        };
        outcome.map(Outcome::Group)
    }

    fn join(
        &mut self,
        name: &Text,
        session: &Text,
        opening: Option<Opening>,
        home: ServerId,
        metadata: Metadata,
        decided: &mut Events,
    ) -> Decision {
        let existing = self.membership(session, name);
        if existing.is_none() {
            self.check_room(name, session, &metadata)?;
        }
        match (self.sessions.contains_key(session), opening) {
            (true, None) => {}
            (true, Some(opening)) => self.move_session(session, home, Some(opening.ttl), decided)?,
            (false, Some(opening)) => self.open(session, opening, home, decided),
            (false, None) => {
                self.find_session(session)?;
            }
        }
        let found = self.find_session(session)?;
        let (ttl, opened, owner) = (found.spec.ttl, found.opened, found.spec.owner.clone());
        let member = existing.unwrap_or_else(|| {
            let session = session.clone();
            self.emit_joined(name, MemberSpec { session, opened, owner, metadata, declared: 0 }, decided)
        });
        let missing = || Rejection::NotMember { group: name.clone(), session: session.clone() };
        let group = self.groups.get(name).cloned().ok_or_else(missing)?;
        Ok(GroupOutcome::Joined { member, group, ttl, revision: self.revision })
    }

    /// Makes the open session a member, by the number that its client has declared.
    pub(super) fn become_member(
        &mut self,
        name: &Text,
        session: &Text,
        metadata: Metadata,
        declared: u64,
        decided: &mut Events,
    ) -> Result<(), Rejection> {
        self.check_room(name, session, &metadata)?;
        let found = self.find_session(session)?;
        let (session, opened, owner) = (found.spec.id.clone(), found.opened, found.spec.owner.clone());
        self.emit_joined(name, MemberSpec { session, opened, owner, metadata, declared }, decided);
        Ok(())
    }

    fn emit_joined(&mut self, name: &Text, spec: MemberSpec, decided: &mut Events) -> Revision {
        let number = self.revision.next();
        let lead = self.groups.get(name).and_then(|group| group.lead);
        let lead = lead.unwrap_or(Lead { member: number, token: number });
        self.emit_group(name, GroupChange::Joined { spec: Arc::new(spec), lead }, decided)
    }

    /// Checks the limits for one more member.
    fn check_room(&self, name: &Text, session: &Text, metadata: &Metadata) -> Result<(), Rejection> {
        let full = |limit, bound| Err(Rejection::LimitReached { limit, bound });
        match self.groups.get(name) {
            None => self.check_groups()?,
            Some(group) if group.members.len() >= MEMBERS => return full("members of one group", MEMBERS),
            Some(group) if group.attached_bytes() + metadata_bytes(metadata) > ATTACHED_BYTES => {
                return full("bytes of metadata in one group", ATTACHED_BYTES);
            }
            Some(_) => {}
        }
        if self.memberships.get(session).is_some_and(|groups| groups.len() >= MEMBERSHIPS) {
            return full("groups of one session", MEMBERSHIPS);
        }
        Ok(())
    }

    /// Checks the limit for one more group.
    fn check_groups(&self) -> Result<(), Rejection> {
        if self.groups.len() >= GROUPS {
            return Err(Rejection::LimitReached { limit: "groups of one namespace", bound: GROUPS });
        }
        Ok(())
    }

    pub(super) fn leave_group(
        &mut self,
        name: &Text,
        session: &Text,
        member: Option<Revision>,
        decided: &mut Events,
    ) -> Decision {
        match self.membership(session, name) {
            Some(number) if member.is_none_or(|member| member == number) => {
                self.end_membership(name, number, EndReason::Released, decided);
                return Ok(GroupOutcome::Left);
            }
            _ => {}
        }
        if self.memory.has_left(session, name, member) {
            return Ok(GroupOutcome::Left);
        }
        self.find_session(session)?;
        Err(Rejection::NotMember { group: name.clone(), session: session.clone() })
    }

    /// Ends all memberships of a session that ends.
    pub(super) fn leave_groups(&mut self, session: &Text, reason: EndReason, decided: &mut Events) {
        for (name, number) in self.memberships.get(session).cloned().unwrap_or_default() {
            self.end_membership(&name, number, reason, decided);
        }
    }

    fn end_membership(&mut self, name: &Text, number: Revision, reason: EndReason, decided: &mut Events) {
        let Some(group) = self.groups.get(name) else { return };
        let Some(member) = group.members.get(&number) else { return };
        let lead = match group.lead {
            Some(lead) if lead.member == number => {
                let next = group.members.keys().find(|other| **other != number);
                next.map(|next| Lead { member: *next, token: self.revision.next() })
            }
            lead => lead,
        };
        let MemberSpec { session, opened, owner, declared, .. } = &*member.spec;
        let (session, opened, owner, declared) = (session.clone(), *opened, owner.clone(), *declared);
        let left = GroupChange::Left { member: number, session, opened, owner, reason, declared, lead };
        self.emit_group(name, left, decided);
    }

    fn configure_group(
        &mut self,
        name: &Text,
        config: Option<Text>,
        expected: Option<Revision>,
        decided: &mut Events,
    ) -> Decision {
        let group = self.groups.get(name);
        let revision = group.map_or(Revision(0), |group| group.config_revision());
        if expected.is_some_and(|expected| expected != revision) {
            return Err(Rejection::ConfigConflict { group: name.clone(), revision });
        }
        if group.and_then(|group| group.config.as_ref()).map(|config| &config.value) == config.as_ref() {
            return Ok(GroupOutcome::Configured { config: revision });
        }
        if group.is_none() {
            self.check_groups()?;
        }
        let is_set = config.is_some();
        let revision = self.emit_group(name, GroupChange::Configured { config }, decided);
        Ok(GroupOutcome::Configured { config: if is_set { revision } else { Revision(0) } })
    }

    fn assign(
        &mut self,
        name: Text,
        session: Text,
        token: Revision,
        basis: Basis,
        assignments: Assignments,
        decided: &mut Events,
    ) -> Decision {
        if token > self.revision {
            return Err(Rejection::TokenFromFuture { token, revision: self.revision });
        }
        let group = self.groups.get(&name);
        let lead = group.and_then(|group| group.lead).filter(|lead| lead.token == token);
        let is_of = |group: &&Arc<Group>| group.leader().is_some_and(|leader| leader.spec.session == session);
        let (Some(lead), Some(group)) = (lead, group.filter(is_of)) else {
            let leader = group.and_then(|group| group.leader()).map(|leader| leader.spec.session.clone());
            return Err(Rejection::NotLeader { group: name, session, token, leader });
        };
        if group.basis() != basis {
            return Err(Rejection::StaleAssignment { group: name, basis: group.basis() });
        }
        if let Some(missing) = group.members.keys().find(|number| !assignments.contains_key(*number)) {
            return Err(Rejection::MemberUnassigned(*missing));
        }
        if let Some(stranger) = assignments.keys().find(|number| !group.members.contains_key(*number)) {
            return Err(Rejection::AssignedToStranger(*stranger));
        }
        let is_there = |(number, assignment): (&Revision, &Text)| {
            group.members.get(number).and_then(|member| member.assignment.as_ref()) == Some(assignment)
        };
        if let Some(assigned) = group.assigned.filter(|assigned| assigned.basis == basis)
            && assignments.iter().all(is_there)
        {
            return Ok(GroupOutcome::Assigned { revision: assigned.revision });
        }
        let revision = self.emit_group(&name, GroupChange::Assigned { lead, basis, assignments }, decided);
        Ok(GroupOutcome::Assigned { revision })
    }

    fn emit_group(&mut self, name: &Text, change: GroupChange, decided: &mut Events) -> Revision {
        let id = self.groups.get(name).map_or(self.revision.next(), |group| group.id);
        self.emit(Event::Group { id, group: name.clone(), change }, decided)
    }

    pub(super) fn membership(&self, session: &Text, name: &Text) -> Option<Revision> {
        self.memberships.get(session)?.get(name).copied()
    }

    pub(super) fn change_group(&mut self, id: Revision, name: &Text, revision: Revision, change: &GroupChange) {
        let before = self.groups.get(name).cloned();
        match change {
            GroupChange::Joined { spec, .. } => {
                self.set_membership(&spec.session, name, Some(revision));
                self.note_membership(&spec.session, name, spec.declared, true);
            }
            GroupChange::Left { session, declared, .. } => {
                self.set_membership(session, name, None);
                self.note_membership(session, name, *declared, false);
            }
            GroupChange::Configured { .. } | GroupChange::Assigned { .. } => {}
        }
        // Removed from the table while it is changed, so that it is not copied unless it is shared.
        self.groups.remove(name);
        self.note(Undo::Group { name: name.clone(), group: before.clone() });
        let after = Group::after(before, id, name, revision, change);
        self.put_group(name, after);
    }

    pub(super) fn put_group(&mut self, name: &Text, group: Option<Arc<Group>>) {
        match group {
            Some(group) => self.groups.insert(name.clone(), group),
            None => self.groups.remove(name),
        };
    }

    pub(super) fn set_membership(&mut self, session: &Text, name: &Text, number: Option<Revision>) {
        let groups = self.memberships.entry(session.clone()).or_default();
        let before = match number {
            Some(number) => groups.insert(name.clone(), number),
            None => groups.remove(name),
        };
        if groups.is_empty() {
            self.memberships.swap_remove(session);
        }
        let identity = self.sessions.get(session).and_then(|session| session.spec.identity.as_ref());
        match (before, number) {
            (None, Some(_)) => {
                self.counted.members += 1;
                self.census.add(identity, Counted::Membership);
            }
            (Some(_), None) => {
                self.counted.members -= 1;
                self.census.remove(identity, Counted::Membership);
            }
            _ => {}
        }
        self.note(Undo::Membership { session: session.clone(), group: name.clone(), number: before });
    }

    /// Adds a group and its memberships to a table that is restored.
    pub(super) fn settle_group(&mut self, group: Arc<Group>) {
        for member in group.members.values() {
            self.set_membership(&member.spec.session, &group.name, Some(member.number));
            self.set_membership_item(&member.spec.session, &group.name, member.spec.declared, true);
        }
        self.groups.insert(group.name.clone(), group);
    }
}

/// The memberships of each session: groups and member numbers.
pub(super) type Memberships = Map<Text, BTreeMap<Text, Revision>>;
