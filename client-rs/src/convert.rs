//! Converts the contract's messages to the data types, and back.

use std::time::{Duration, SystemTime};

use tenure_proto::v1;

use crate::model::{
    Claim, ClaimState, EndReason, Event, EventKind, GroupEvent, GroupEventKind, HistoryGoneCause, Lock, LockSettings,
    Mode, PendingTransfer, Preempt, SessionInfo,
};

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

/// A time from the wire.
pub(crate) fn time_from_wire(time: Option<prost_types::Timestamp>) -> Option<SystemTime> {
    time.and_then(|time| SystemTime::try_from(time).ok())
}

/// A mode for the wire, with its permits and its limit.
pub(crate) fn mode_to_wire(mode: Mode) -> (v1::Mode, u32, u32) {
    match mode {
        Mode::Exclusive | Mode::Unknown => (v1::Mode::Exclusive, 0, 0),
        Mode::Shared => (v1::Mode::Shared, 0, 0),
        Mode::Permits { permits, limit } => (v1::Mode::Permits, permits, limit.unwrap_or_default()),
    }
}

pub(crate) fn optional(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// Converts an enum of the contract to the client's, whose variants have the same names.
macro_rules! same_variants {
    ($from:ident => $to:ident: $($variant:ident),+) => {
        impl From<tenure_proto::v1::$from> for $to {
            fn from(value: tenure_proto::v1::$from) -> Self {
                match value {
                    $(tenure_proto::v1::$from::$variant => Self::$variant,)+
                    tenure_proto::v1::$from::Unspecified => Self::Unknown,
                }
            }
        }
    };
}

same_variants!(ClaimState => ClaimState: Waiting, Held, Lingering);
same_variants!(EndReason => EndReason: Released, Expired, Disconnected, Closed, Evicted, Transferred);
same_variants!(
    EventType => EventKind:
    Queued, Granted, Lingering, Ended, TransferStarted, TransferCancelled, Transferred, Updated, Configured
);
same_variants!(GroupEventType => GroupEventKind: Joined, Left, Configured, Assigned);
same_variants!(HistoryGoneCause => HistoryGoneCause: Compacted, Lost);

impl From<v1::Claim> for Claim {
    fn from(claim: v1::Claim) -> Self {
        let state = claim.state().into();
        let mode = match v1::Mode::try_from(claim.mode) {
            Ok(v1::Mode::Exclusive | v1::Mode::Unspecified) => Mode::Exclusive,
            Ok(v1::Mode::Shared) => Mode::Shared,
            Ok(v1::Mode::Permits) => {
                Mode::Permits { permits: claim.permits, limit: (claim.limit > 0).then_some(claim.limit) }
            }
            Err(_) => Mode::Unknown,
        };
        Self {
            id: claim.id,
            names: claim.names,
            state,
            token: (claim.token != 0).then_some(claim.token),
            session_id: claim.session_id,
            owner: claim.owner,
            metadata: claim.metadata,
            priority: claim.priority,
            min_hold: claim.min_hold.map(from_wire).unwrap_or_default(),
            mode,
            transfer: claim.transfer.map(|transfer| PendingTransfer {
                to: optional(transfer.to_session_id),
                drain: transfer.drain.map(from_wire).unwrap_or_default(),
            }),
            deadlock: claim.deadlock,
        }
    }
}

impl From<v1::LockSettings> for LockSettings {
    fn from(settings: v1::LockSettings) -> Self {
        let preempt = settings.preempt.map(|preempt| Preempt {
            settling: preempt.settling.map(from_wire).unwrap_or_default(),
            drain: preempt.drain.map(from_wire).unwrap_or_default(),
        });
        Self { limit: (settings.limit > 0).then_some(settings.limit), preempt }
    }
}

impl From<LockSettings> for v1::LockSettings {
    fn from(settings: LockSettings) -> Self {
        let preempt = settings.preempt.map(|preempt| v1::Preempt {
            settling: Some(to_wire(preempt.settling)),
            drain: Some(to_wire(preempt.drain)),
        });
        Self { limit: settings.limit.unwrap_or_default(), preempt }
    }
}

impl From<v1::Lock> for Lock {
    fn from(lock: v1::Lock) -> Self {
        Self {
            name: lock.name,
            holders: lock.holders.into_iter().map(Claim::from).collect(),
            waiters: lock.waiters.into_iter().map(Claim::from).collect(),
            waiter_count: lock.waiter_count,
            holder_count: lock.holder_count,
            limit: (lock.limit > 0).then_some(lock.limit),
            settings: lock.settings.map(LockSettings::from).unwrap_or_default(),
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
            metadata: session.metadata,
            home: session.home,
            claims: session.claims.into_iter().map(Claim::from).collect(),
            remaining: session.remaining.map(from_wire),
            disconnect_grace: session.disconnect_grace.map(from_wire),
        }
    }
}

impl Event {
    /// The contract's event, split by lock: a claim to several locks has one event in the contract.
    #[must_use]
    pub fn of_each_lock(event: v1::Event) -> Vec<Self> {
        let kind = EventKind::from(event.r#type());
        let settings = || event.settings.map(LockSettings::from).unwrap_or_default();
        let same = Self {
            settings: (kind == EventKind::Configured).then(settings),
            previous: event.previous.map(Claim::from),
            revision: event.revision,
            name: String::new(),
            kind,
            claim: event.claim.map(Claim::from),
            end_reason: (event.end_reason != 0).then(|| EndReason::from_proto(event.end_reason)),
            operator: optional(event.operator),
            note: optional(event.note),
            vacant: false,
            time: time_from_wire(event.time),
        };
        let vacant = |name: &String| event.vacant_names.contains(name);
        event.names.into_iter().map(|name| Self { vacant: vacant(&name), name, ..same.clone() }).collect()
    }
}

impl From<v1::GroupEvent> for GroupEvent {
    fn from(event: v1::GroupEvent) -> Self {
        let kind = event.r#type().into();
        Self {
            revision: event.revision,
            group: event.group,
            kind,
            member: event.member,
            end_reason: (event.end_reason != 0).then(|| EndReason::from_proto(event.end_reason)),
            leader: (event.leader != 0).then_some(event.leader),
            token: (event.token != 0).then_some(event.token),
            config: event.config,
            time: time_from_wire(event.time),
        }
    }
}
