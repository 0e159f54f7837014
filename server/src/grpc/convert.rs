//! Converts core types into messages.

use std::time::Duration;

use tenure_core::{Claim, ClaimState, EndReason, Group, LockSettings, Member, MemberSpec, Mode, Revision, SessionSpec};
use tenure_proto::v1;

pub(crate) fn duration(value: Duration) -> prost_types::Duration {
    prost_types::Duration {
        seconds: i64::try_from(value.as_secs()).unwrap_or(i64::MAX),
        nanos: i32::try_from(value.subsec_nanos()).unwrap_or_default(),
    }
}

/// Converts a time in ms since 1970.
pub(crate) fn timestamp(at_ms: i64) -> prost_types::Timestamp {
    let nanos = i32::try_from(at_ms.rem_euclid(1_000) * 1_000_000).unwrap_or_default();
    prost_types::Timestamp { seconds: at_ms.div_euclid(1_000), nanos }
}

/// Converts a claim, without fields that are not part of [`Claim`].
pub(crate) fn claim(claim: &Claim) -> v1::Claim {
    let state = match claim.state {
        ClaimState::Waiting => v1::ClaimState::Waiting,
        ClaimState::Held { .. } => v1::ClaimState::Held,
        ClaimState::Lingering { .. } => v1::ClaimState::Lingering,
    };
    let spec = &claim.spec;
    v1::Claim {
        id: claim.id.0,
        names: spec.names.iter().map(ToString::to_string).collect(),
        state: state.into(),
        token: claim.token().map_or(0, |token| token.0),
        session_id: spec.session.to_string(),
        owner: spec.owner.to_string(),
        metadata: (*spec.metadata).clone(),
        priority: spec.priority,
        min_hold: (!spec.min_hold.is_zero()).then(|| duration(spec.min_hold.into())),
        mode: match spec.mode {
            Mode::Exclusive => v1::Mode::Exclusive,
            Mode::Shared => v1::Mode::Shared,
            Mode::Permits { .. } => v1::Mode::Permits,
        }
        .into(),
        permits: spec.mode.permits(),
        limit: match spec.mode {
            Mode::Permits { limit, .. } => limit,
            Mode::Exclusive | Mode::Shared => 0,
        },
        transfer: claim.transfer.as_ref().map(|transfer| v1::PendingTransfer {
            drain: Some(duration(transfer.drain)),
            ..v1::PendingTransfer::default()
        }),
        deadlock: Vec::new(),
        granted_at: None,
    }
}

/// Converts a claim with its grant time, in ms since 1970, if known.
pub(crate) fn claim_since(claim: &Claim, granted_ms: Option<i64>) -> v1::Claim {
    v1::Claim { granted_at: granted_ms.map(timestamp), ..self::claim(claim) }
}

/// Converts the settings that an operator has set on a lock.
pub(crate) fn settings(settings: &LockSettings) -> v1::LockSettings {
    v1::LockSettings {
        limit: settings.limit.unwrap_or_default(),
        preempt: settings.preempt.map(|preempt| v1::Preempt {
            settling: Some(duration(preempt.settling)),
            drain: Some(duration(preempt.drain)),
        }),
    }
}

/// Converts a session with all of its claims.
pub(crate) fn session(spec: &SessionSpec, opened: Revision, claims: Vec<v1::Claim>) -> v1::Session {
    v1::Session {
        id: spec.id.to_string(),
        opened_revision: opened.0,
        ttl: Some(duration(spec.ttl)),
        owner: spec.owner.to_string(),
        metadata: (*spec.metadata).clone(),
        home: spec.home.0,
        claim_count: claims.len() as u64,
        claims,
        remaining: None,
        disconnect_grace: spec.disconnect_grace.map(duration),
        identity: spec.identity.as_ref().map(ToString::to_string).unwrap_or_default(),
    }
}

pub(crate) fn end_reason(reason: EndReason) -> v1::EndReason {
    match reason {
        EndReason::Released => v1::EndReason::Released,
        EndReason::Expired => v1::EndReason::Expired,
        EndReason::Disconnected => v1::EndReason::Disconnected,
        EndReason::Closed => v1::EndReason::Closed,
        EndReason::Evicted => v1::EndReason::Evicted,
        EndReason::Transferred => v1::EndReason::Transferred,
    }
}

/// Converts a group of the table; an empty one if the table has none.
pub(crate) fn group(name: &str, group: Option<&Group>) -> v1::Group {
    let Some(group) = group else { return v1::Group { name: name.to_owned(), ..v1::Group::default() } };
    let leader = group.lead.zip(group.leader()).map(|(lead, leader)| v1::GroupLeader {
        member: lead.member.0,
        token: lead.token.0,
        session_id: leader.spec.session.to_string(),
        owner: leader.spec.owner.to_string(),
    });
    let basis = group.assigned.map(|assigned| assigned.basis);
    v1::Group {
        name: name.to_owned(),
        leader,
        members: group.members.values().map(assigned).collect(),
        membership_revision: group.membership.0,
        config: group.config.as_ref().map(|config| config.value.to_string()),
        config_revision: group.config_revision().0,
        assignments_current: group.is_assigned(),
        assignments_revision: group.assigned.map_or(0, |assigned| assigned.revision.0),
        assigned_membership_revision: basis.map_or(0, |basis| basis.membership.0),
        assigned_config_revision: basis.map_or(0, |basis| basis.config.0),
    }
}

fn assigned(member: &Member) -> v1::GroupMember {
    let assignment = member.assignment.as_ref().map(ToString::to_string);
    v1::GroupMember { assignment, ..self::member(member.number, &member.spec) }
}

/// Converts a member without its assignment.
pub(crate) fn member(number: Revision, spec: &MemberSpec) -> v1::GroupMember {
    v1::GroupMember {
        number: number.0,
        session_id: spec.session.to_string(),
        owner: spec.owner.to_string(),
        metadata: (*spec.metadata).clone(),
        assignment: None,
    }
}
