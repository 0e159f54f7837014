//! How the events of groups are written down.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tenure_core::{Basis, Event, GroupChange, Lead, MemberSpec, Revision, Text};

use super::CodecError;
use super::line::Line;
use super::words::{need, reason, text};

/// What is assigned to one member.
#[derive(Serialize, Deserialize)]
pub(super) struct AssignmentLine<'a> {
    member: u64,
    #[serde(borrow)]
    assignment: Cow<'a, str>,
}

/// The line of an event of a group.
pub(super) fn line<'a>(revision: Revision, id: Revision, group: &'a Text, change: &'a GroupChange) -> Line<'a> {
    let line = match change {
        GroupChange::Joined { spec, lead } => Line {
            event: "group_joined".into(),
            member: Some(revision.0),
            session: Some((&*spec.session).into()),
            opened: Some(spec.opened.0),
            owner: Some((&*spec.owner).into()),
            metadata: Cow::Borrowed(&spec.metadata),
            ..of_lead(Some(*lead))
        },
        GroupChange::Left { member, session, opened, owner, reason, lead } => Line {
            event: "group_left".into(),
            member: Some(member.0),
            session: Some((&**session).into()),
            opened: Some(opened.0),
            owner: Some((&**owner).into()),
            reason: Some(reason.as_str().into()),
            ..of_lead(*lead)
        },
        GroupChange::Configured { config } => Line {
            event: "group_configured".into(),
            config: config.as_ref().map(|config| (&**config).into()),
            ..Line::default()
        },
        GroupChange::Assigned { lead, basis, assignments } => Line {
            event: "group_assigned".into(),
            membership: Some(basis.membership.0),
            config_revision: Some(basis.config.0),
            assignments: assignments
                .iter()
                .map(|(member, assignment)| AssignmentLine { member: member.0, assignment: (&**assignment).into() })
                .collect(),
            ..of_lead(Some(*lead))
        },
    };
    Line { group_id: Some(id.0), group: Some((&**group).into()), ..line }
}

/// Who leads from now on, and by which token.
fn of_lead(lead: Option<Lead>) -> Line<'static> {
    let (leader, token) = (lead.map(|lead| lead.member.0), lead.map(|lead| lead.token.0));
    Line { leader, token, ..Line::default() }
}

/// The event of a line that [`line`] made.
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
                metadata: Arc::new(line.metadata.into_owned()),
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
