//! Checks leadership of groups and their assignments.

use std::collections::BTreeMap;

use tenure_core::{Assignments, Basis, Event, GroupChange, Lead, Revision};

use crate::Violations;
use crate::history::History;
use crate::past::Past;

/// State of a group according to the log.
#[derive(Default)]
struct Group {
    members: Vec<Revision>,
    lead: Option<Lead>,
    membership: Revision,
    config: Revision,
}

impl Group {
    /// Raises the leader's token after a loss of history: in the lost part, others may have led with higher tokens.
    fn lose(&mut self, revision: Revision) {
        self.lead = self.lead.map(|lead| Lead { token: revision, ..lead });
    }

    fn basis(&self) -> Basis {
        Basis { membership: self.membership, config: self.config }
    }
}

/// The longest-standing member leads, with rising tokens. Only the leader assigns, and to all current members.
pub(crate) fn are_led_by_the_oldest_member(past: &Past, found: &mut Violations) {
    let mut groups: BTreeMap<Revision, Group> = BTreeMap::new();
    let mut tokens: BTreeMap<String, Revision> = BTreeMap::new();
    for recorded in past.surviving() {
        let revision = recorded.revision;
        if let Event::HistoryLost { .. } = &recorded.event {
            groups.values_mut().for_each(|group| group.lose(revision));
        }
        let Event::Group { id, group: name, change } = &recorded.event else { continue };
        let group = groups.entry(*id).or_default();
        match change {
            GroupChange::Joined { .. } => {
                group.members.push(revision);
                group.membership = revision;
            }
            GroupChange::Left { member, .. } => {
                group.members.retain(|other| other != member);
                group.membership = revision;
            }
            GroupChange::Configured { config } => {
                group.config = if config.is_some() { revision } else { Revision(0) };
            }
            GroupChange::Assigned { lead, basis, assignments } => {
                if group.lead != Some(*lead) || group.basis() != *basis {
                    found.add(
                        "only the leader assigns, from the current state",
                        format!("{name} at {revision}: {lead:?}, {basis:?}"),
                    );
                }
                if !assignments.keys().eq(group.members.iter()) {
                    found.add("every member gets an assignment", format!("{name} at {revision}: {assignments:?}"));
                }
            }
        }
        let lead = match change {
            GroupChange::Joined { lead, .. } => Some(*lead),
            GroupChange::Left { lead, .. } => *lead,
            GroupChange::Configured { .. } | GroupChange::Assigned { .. } => continue,
        };
        if lead.map(|lead| lead.member) != group.members.first().copied() {
            found.add("the oldest member leads", format!("{name} at {revision}: {lead:?} of {:?}", group.members));
        }
        if let Some(lead) = lead.filter(|lead| group.lead != Some(*lead)) {
            let highest = tokens.entry(name.to_string()).or_default();
            if lead.token <= *highest {
                found.add("leaders' tokens rise", format!("{name} at {revision}: {lead:?} after {highest}"));
            }
            *highest = lead.token;
        }
        group.lead = lead;
    }
}

/// The assignment that a member receives is the one that a leader committed for it.
pub(crate) fn deliver_committed_assignments(history: &History, past: &Past, found: &mut Violations) {
    let mut assigned: BTreeMap<u64, &Assignments> = BTreeMap::new();
    for (_, recorded) in past.committed() {
        if let Event::Group { change: GroupChange::Assigned { assignments, .. }, .. } = &recorded.event {
            assigned.insert(recorded.revision.0, assignments);
        }
    }
    for task in &history.tasks {
        let assignments = assigned.get(&task.revision);
        let expected = assignments.and_then(|assignments| assignments.get(&Revision(task.member)));
        if expected.is_none_or(|expected| **expected != *task.assignment) {
            found.add("members receive their assignments", format!("{task:?}, not {expected:?}"));
        }
    }
}
