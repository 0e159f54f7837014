//! From the contract's messages to the nouns, and back.

use std::time::{Duration, SystemTime};

use tenure_proto::v1;

use crate::model::{Claim, ClaimState, EndReason, Event, EventKind, Lock, SessionInfo};

/// A duration for the wire.
pub(crate) fn to_wire(duration: Duration) -> prost_types::Duration {
    prost_types::Duration {
        seconds: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        nanos: i32::try_from(duration.subsec_nanos()).unwrap_or(0),
    }
}

/// A duration from the wire: zero if it is negative.
pub(crate) fn from_wire(duration: prost_types::Duration) -> Duration {
    Duration::try_from(duration).unwrap_or_default()
}

fn optional(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

impl From<v1::Claim> for Claim {
    fn from(claim: v1::Claim) -> Self {
        let state = match claim.state() {
            v1::ClaimState::Waiting => ClaimState::Waiting,
            v1::ClaimState::Held => ClaimState::Held,
            v1::ClaimState::Lingering => ClaimState::Lingering,
            v1::ClaimState::Unspecified => ClaimState::Unknown,
        };
        Self {
            id: claim.id,
            names: claim.names,
            state,
            token: (claim.token != 0).then_some(claim.token),
            session_id: claim.session_id,
            owner: claim.owner,
            metadata: claim.metadata.into_iter().collect(),
            priority: claim.priority,
            min_hold: claim.min_hold.map(from_wire).unwrap_or_default(),
        }
    }
}

impl From<v1::Lock> for Lock {
    fn from(lock: v1::Lock) -> Self {
        Self {
            name: lock.name,
            holders: lock.holders.into_iter().map(Claim::from).collect(),
            waiters: lock.waiters.into_iter().map(Claim::from).collect(),
            waiter_count: lock.waiter_count,
        }
    }
}

impl From<v1::Session> for SessionInfo {
    fn from(session: v1::Session) -> Self {
        Self {
            id: session.id,
            opened_revision: session.opened_revision,
            ttl: session.ttl.map(from_wire).unwrap_or_default(),
            owner: session.owner,
            metadata: session.metadata.into_iter().collect(),
            home: session.home,
            claims: session.claims.into_iter().map(Claim::from).collect(),
            remaining: session.remaining.map(from_wire),
            disconnect_grace: session.disconnect_grace.map(from_wire),
        }
    }
}

impl From<v1::Event> for Event {
    fn from(event: v1::Event) -> Self {
        let kind = match event.r#type() {
            v1::EventType::Queued => EventKind::Queued,
            v1::EventType::Granted => EventKind::Granted,
            v1::EventType::Lingering => EventKind::Lingering,
            v1::EventType::Ended => EventKind::Ended,
            v1::EventType::Unspecified => EventKind::Unknown,
        };
        Self {
            revision: event.revision,
            name: event.name,
            kind,
            claim: event.claim.map(Claim::from),
            end_reason: (event.end_reason != 0).then(|| EndReason::from_proto(event.end_reason)),
            operator: optional(event.operator),
            note: optional(event.note),
            vacant: event.vacant,
            time: event.time.and_then(|time| SystemTime::try_from(time).ok()),
        }
    }
}
