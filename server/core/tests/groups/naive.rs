//! The naive model of groups: members in flat lists, the first of which leads. It counts revisions itself.

use std::collections::BTreeMap;

use tenure_core::{Command, GroupCommand, GroupOutcome, Outcome, Rejection, Revision, Table};

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Done,
    Member(u64),
    Config(u64),
    Assigned(u64),
    Rejected(&'static str),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NaiveMember {
    pub number: u64,
    pub session: String,
    pub assignment: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NaiveGroup {
    pub members: Vec<NaiveMember>,
    pub token: u64,
    pub membership: u64,
    pub config: Option<(String, u64)>,
    pub assigned: Option<(u64, u64, u64)>,
}

impl NaiveGroup {
    pub fn config_revision(&self) -> u64 {
        self.config.as_ref().map_or(0, |config| config.1)
    }

    fn is_empty(&self) -> bool {
        self.members.is_empty() && self.config.is_none()
    }
}

#[derive(Default)]
pub struct Naive {
    pub revision: u64,
    pub sessions: Vec<String>,
    pub groups: BTreeMap<String, NaiveGroup>,
    left: Vec<(String, String)>,
}

impl Naive {
    pub fn decide(&mut self, command: &Command) -> Answer {
        match command {
            Command::OpenSession { session, .. } => {
                self.open(session);
                Answer::Done
            }
            Command::CloseSession { session, .. } => {
                self.close(session);
                Answer::Done
            }
            Command::Group(GroupCommand::Join { group, session, opening, .. }) => {
                if opening.is_some() {
                    self.open(session);
                }
                if !self.sessions.contains(&session.to_string()) {
                    return Answer::Rejected("session");
                }
                if let Some(number) = self.number(group, session) {
                    return Answer::Member(number);
                }
                self.revision += 1;
                let number = self.revision;
                let group = self.groups.entry(group.to_string()).or_default();
                if group.members.is_empty() {
                    group.token = number;
                }
                group.membership = number;
                group.members.push(NaiveMember { number, session: session.to_string(), assignment: None });
                Answer::Member(number)
            }
            Command::Group(GroupCommand::Leave { group, session, .. }) => {
                if self.number(group, session).is_some() {
                    self.leave(group, session);
                    self.left.push((group.to_string(), session.to_string()));
                    return Answer::Done;
                }
                if self.left.contains(&(group.to_string(), session.to_string())) {
                    return Answer::Done;
                }
                let is_open = self.sessions.contains(&session.to_string());
                Answer::Rejected(if is_open { "member" } else { "session" })
            }
            Command::Group(GroupCommand::Configure { group, config, expected }) => {
                let found = self.groups.get(&**group).cloned().unwrap_or_default();
                if expected.is_some_and(|expected| expected.0 != found.config_revision()) {
                    return Answer::Rejected("config");
                }
                if found.config.as_ref().map(|config| config.0.as_str()) == config.as_deref() {
                    return Answer::Config(found.config_revision());
                }
                self.revision += 1;
                let config = config.as_ref().map(|value| (value.to_string(), self.revision));
                let after = NaiveGroup { config, ..found };
                let revision = after.config_revision();
                self.groups.insert(group.to_string(), after);
                self.remove_empty();
                Answer::Config(revision)
            }
            Command::Group(GroupCommand::Assign { group, session, token, basis, assignments }) => {
                if token.0 > self.revision {
                    return Answer::Rejected("future");
                }
                let next = self.revision + 1;
                let Some(group) = self.groups.get_mut(&**group) else { return Answer::Rejected("leader") };
                let leads = group.members.first().is_some_and(|first| *first.session == **session);
                if !leads || group.token != token.0 {
                    return Answer::Rejected("leader");
                }
                let config = group.config_revision();
                if (group.membership, config) != (basis.membership.0, basis.config.0) {
                    return Answer::Rejected("stale");
                }
                let numbers: Vec<Revision> = group.members.iter().map(|member| Revision(member.number)).collect();
                if !assignments.keys().eq(numbers.iter()) {
                    return Answer::Rejected("assignments");
                }
                let wanted: Vec<Option<String>> =
                    assignments.values().map(|assignment| Some(assignment.to_string())).collect();
                let before: Vec<Option<String>> =
                    group.members.iter().map(|member| member.assignment.clone()).collect();
                if let Some((revision, membership, from)) = group.assigned
                    && (membership, from) == (group.membership, config)
                    && wanted == before
                {
                    return Answer::Assigned(revision);
                }
                for (member, assignment) in group.members.iter_mut().zip(wanted) {
                    member.assignment = assignment;
                }
                group.assigned = Some((next, group.membership, config));
                self.revision = next;
                Answer::Assigned(next)
            }
            other => panic!("not a group command: {other:?}"),
        }
    }

    fn open(&mut self, session: &str) {
        if !self.sessions.iter().any(|open| open == session) {
            self.revision += 1;
            self.sessions.push(session.to_owned());
        }
    }

    fn close(&mut self, session: &str) {
        if !self.sessions.iter().any(|open| open == session) {
            return;
        }
        let names: Vec<String> = self.groups.keys().cloned().collect();
        for name in names {
            if self.number(&name, session).is_some() {
                self.leave(&name, session);
            }
        }
        self.sessions.retain(|open| open != session);
        self.revision += 1;
    }

    fn number(&self, group: &str, session: &str) -> Option<u64> {
        let members = &self.groups.get(group)?.members;
        members.iter().find(|member| member.session == session).map(|member| member.number)
    }

    fn leave(&mut self, group: &str, session: &str) {
        self.revision += 1;
        let group = self.groups.get_mut(group).expect("a group with this member");
        let index = group.members.iter().position(|member| member.session == session).expect("a member");
        group.members.remove(index);
        group.membership = self.revision;
        if index == 0 {
            group.token = self.revision;
        }
        self.remove_empty();
    }

    fn remove_empty(&mut self) {
        self.groups.retain(|_, group| !group.is_empty());
    }

    /// Asserts that the table has the same state.
    pub fn check(&self, table: &Table) {
        assert_eq!(table.revision().0, self.revision);
        let names: Vec<String> = table.groups_after("", None).map(|group| group.name.to_string()).collect();
        assert_eq!(names, self.groups.keys().cloned().collect::<Vec<_>>());
        let members: usize = self.groups.values().map(|group| group.members.len()).sum();
        assert_eq!((table.totals().groups, table.totals().members), (names.len(), members));
        for (name, expected) in &self.groups {
            let group = table.group(name).expect("a group that the model has");
            let members = group.members.values().map(|member| NaiveMember {
                number: member.number.0,
                session: member.spec.session.to_string(),
                assignment: member.assignment.as_ref().map(ToString::to_string),
            });
            let found = NaiveGroup {
                members: members.collect(),
                // Without members, the token does not matter.
                token: group.lead.map_or(expected.token, |lead| lead.token.0),
                membership: group.membership.0,
                config: group.config.as_ref().map(|config| (config.value.to_string(), config.revision.0)),
                assigned: group
                    .assigned
                    .map(|assigned| (assigned.revision.0, assigned.basis.membership.0, assigned.basis.config.0)),
            };
            assert_eq!(&found, expected);
            assert_eq!(group.leader().map(|leader| leader.number.0), found.members.first().map(|first| first.number));
            assert_eq!(group.lead.is_some(), !found.members.is_empty());
        }
    }
}

pub fn answer_of(outcome: &Result<Outcome, Rejection>) -> Answer {
    match outcome {
        Ok(Outcome::Group(GroupOutcome::Joined { member, .. })) => Answer::Member(member.0),
        Ok(Outcome::Group(GroupOutcome::Configured { config })) => Answer::Config(config.0),
        Ok(Outcome::Group(GroupOutcome::Assigned { revision })) => Answer::Assigned(revision.0),
        Ok(_) => Answer::Done,
        Err(Rejection::SessionNotFound(_) | Rejection::SessionEnded { .. }) => Answer::Rejected("session"),
        Err(Rejection::NotMember { .. }) => Answer::Rejected("member"),
        Err(Rejection::ConfigConflict { .. }) => Answer::Rejected("config"),
        Err(Rejection::NotLeader { .. }) => Answer::Rejected("leader"),
        Err(Rejection::StaleAssignment { .. }) => Answer::Rejected("stale"),
        Err(Rejection::MemberUnassigned(_) | Rejection::AssignedToStranger(_)) => Answer::Rejected("assignments"),
        Err(Rejection::TokenFromFuture { .. }) => Answer::Rejected("future"),
        Err(_) => Answer::Rejected("otherwise"),
    }
}
