//! Encoding and decoding of the events of groups.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use tenure_core::{Basis, Event, GroupChange, Lead, MemberSpec, Revision, Text};

use super::CodecError;
use super::line::Line;
use super::object::Object;
use super::words::{labels, need, reason, text};

/// The assignment of one member.
#[derive(Deserialize)]
pub(super) struct AssignmentLine<'a> {
    member: u64,
    #[serde(borrow)]
    assignment: Cow<'a, str>,
}

/// The name of a group change in a line.
pub(super) fn name(change: &GroupChange) -> &'static str {
    match change {
        GroupChange::Joined { .. } => "group_joined",
        GroupChange::Left { .. } => "group_left",
        GroupChange::Configured { .. } => "group_configured",
        GroupChange::Assigned { .. } => "group_assigned",
    }
}

/// Writes the change of a group at this revision.
pub(super) fn write(line: &mut Object<'_>, revision: Revision, change: &GroupChange) {
    match change {
        GroupChange::Joined { spec, lead } => {
            line.number("member", revision.0).text("session", &spec.session).number("opened", spec.opened.0);
            line.text("owner", &spec.owner).labels("metadata", &spec.metadata);
            write_lead(line, *lead);
        }
        GroupChange::Left { member, session, opened, owner, reason, lead } => {
            line.number("member", member.0).text("session", session).number("opened", opened.0);
            line.text("owner", owner).text("reason", reason.as_str());
            lead.map(|lead| write_lead(line, lead));
        }
        GroupChange::Configured { config } => {
            if let Some(config) = config {
                line.text("config", config);
            }
        }
        GroupChange::Assigned { lead, basis, assignments } => {
            line.number("membership", basis.membership.0).number("config_revision", basis.config.0);
            line.list("assignments", assignments.iter(), |(member, assignment), out| {
                let mut line = Object::begin(out);
                line.number("member", member.0).text("assignment", assignment);
                line.end();
            });
            write_lead(line, *lead);
        }
    }
}

/// Writes the new leader and its token.
fn write_lead(line: &mut Object<'_>, lead: Lead) {
    line.number("leader", lead.member.0).number("token", lead.token.0);
}

/// Decodes a line that [`write`] wrote.
pub(super) fn event(line: Line<'_>) -> Result<Event, CodecError> {
    let lead = match (line.leader, line.token) {
        (Some(member), Some(token)) => Some(Lead { member: Revision(member), token: Revision(token) }),
        _ => None,
    };
    let change = match &*line.event {
        "group_joined" => GroupChange::Joined {
            spec: Arc::new(MemberSpec {
                session: text(line.session, "session")?,
                opened: Revision(need(line.opened, "opened")?),
                owner: text(line.owner, "owner")?,
                metadata: labels(line.metadata),
            }),
            lead: need(lead, "leader")?,
        },
        "group_left" => GroupChange::Left {
            member: Revision(need(line.member, "member")?),
            session: text(line.session, "session")?,
            opened: Revision(need(line.opened, "opened")?),
            owner: text(line.owner, "owner")?,
            reason: reason(line.reason)?,
            lead,
        },
        "group_configured" => GroupChange::Configured { config: line.config.map(|config| Text::from(&*config)) },
        "group_assigned" => GroupChange::Assigned {
            lead: need(lead, "leader")?,
            basis: Basis {
                membership: Revision(need(line.membership, "membership")?),
                config: Revision(need(line.config_revision, "config_revision")?),
            },
            assignments: Arc::new(
                line.assignments
                    .into_iter()
                    .map(|line| (Revision(line.member), Text::from(&*line.assignment)))
                    .collect(),
            ),
        },
        word => return Err(CodecError::Unknown { what: "event", word: word.to_owned() }),
    };
    Ok(Event::Group { id: Revision(need(line.group_id, "group_id")?), group: text(line.group, "group")?, change })
}
