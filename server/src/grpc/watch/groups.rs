//! Converts group events for watches.

use tenure_core::{Event, GroupChange, Lead, Recorded, Revision};
use tenure_proto::v1;

use crate::grpc::convert;
use crate::store::Batch;
use crate::watch::Filter;

/// Converts an event of a batch, if it concerns a watched group.
pub(super) fn event(recorded: &Recorded, batch: &Batch, filter: &Filter) -> Option<v1::GroupEvent> {
    match &recorded.event {
        Event::Group { group, change, .. } if filter.groups.contains(&**group) => {
            let event = change_event(recorded.revision, change);
            Some(v1::GroupEvent { group: group.to_string(), time: Some(convert::timestamp(batch.at_ms)), ..event })
        }
        _ => None,
    }
}

/// Converts a change of a group, without the group's name and the time.
fn change_event(revision: Revision, change: &GroupChange) -> v1::GroupEvent {
    let event = match change {
        GroupChange::Joined { spec, lead } => v1::GroupEvent {
            r#type: v1::GroupEventType::Joined.into(),
            member: Some(convert::member(revision, spec)),
            ..of_lead(Some(*lead))
        },
        GroupChange::Left { member, session, owner, reason, lead, .. } => v1::GroupEvent {
            r#type: v1::GroupEventType::Left.into(),
            member: Some(v1::GroupMember {
                number: member.0,
                session_id: session.to_string(),
                owner: owner.to_string(),
                ..v1::GroupMember::default()
            }),
            end_reason: convert::end_reason(*reason).into(),
            ..of_lead(*lead)
        },
        GroupChange::Configured { config } => v1::GroupEvent {
            r#type: v1::GroupEventType::Configured.into(),
            config: config.as_ref().map(ToString::to_string),
            ..v1::GroupEvent::default()
        },
        GroupChange::Assigned { lead, basis, .. } => v1::GroupEvent {
            r#type: v1::GroupEventType::Assigned.into(),
            membership_revision: basis.membership.0,
            config_revision: basis.config.0,
            ..of_lead(Some(*lead))
        },
    };
    v1::GroupEvent { revision: revision.0, ..event }
}

fn of_lead(lead: Option<Lead>) -> v1::GroupEvent {
    let (leader, token) = lead.map_or((0, 0), |lead| (lead.member.0, lead.token.0));
    v1::GroupEvent { leader, token, ..v1::GroupEvent::default() }
}
