//! Events: the changes of a namespace, and the only data that is stored in history and watched.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::encoding::{millis, one, optional_millis};
use crate::end::{EndReason, Eviction};
use crate::group::GroupChange;
use crate::model::{ClaimSpec, LockSettings, Revision, ServerId, SessionSpec, metadata_bytes};
use crate::names::{Names, Text};

/// A change of a namespace. Each event contains all that a reader of history needs, without the table of its time.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A session was opened; it is `opened` at this event's revision.
    SessionOpened(Arc<SessionSpec>),
    /// A session was moved: it has this home and TTL from now on.
    SessionMoved {
        /// The session's id.
        session: Text,
        /// The revision that opened it.
        opened: Revision,
        /// Its home from now on.
        home: ServerId,
        /// Its TTL from now on.
        #[serde(rename = "ttl_ms", with = "millis")]
        ttl: Duration,
    },
    /// A session ended. The ends of its claims and memberships come before, in the same batch.
    SessionEnded {
        /// The session's id.
        session: Text,
        /// The revision that opened it.
        opened: Revision,
        /// Why it ended.
        reason: EndReason,
    },
    /// A claim joined the queue; its id is this event's revision.
    ClaimQueued(Arc<ClaimSpec>),
    /// A claim was granted; the fencing token is this event's revision.
    ClaimGranted {
        /// The claim's id: this event's own revision if it never waited.
        claim: Revision,
        /// Its parameters.
        #[serde(flatten)]
        spec: Arc<ClaimSpec>,
    },
    /// A hold ended before its minimum hold has passed.
    ClaimLingering {
        /// The claim's id.
        claim: Revision,
        /// The fencing token it was held with.
        token: Revision,
        /// Its parameters.
        #[serde(flatten)]
        spec: Arc<ClaimSpec>,
        /// The reason for the end of the hold.
        reason: EndReason,
        /// The server that counts the minimum hold.
        home: ServerId,
        /// Those of its names that other claims still hold.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        still_held: Vec<Text>,
        /// How late the renewals were: see [`Home::record_pauses`](crate::Home::record_pauses).
        #[serde(rename = "longest_pause_ms", with = "optional_millis")]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        longest_pause: Option<Duration>,
    },
    /// A claim ended, and its locks are free for the next waiter.
    ClaimEnded {
        /// The claim's id.
        claim: Revision,
        /// The fencing token it was held with; none if it was never granted.
        #[serde(skip_serializing_if = "Option::is_none")]
        token: Option<Revision>,
        /// Its parameters.
        #[serde(flatten)]
        spec: Arc<ClaimSpec>,
        /// Why it ended.
        reason: EndReason,
        /// The operator who evicted it, if that is the reason.
        #[serde(rename = "by", skip_serializing_if = "Option::is_none")]
        eviction: Option<Eviction>,
        /// Those of its names that other claims still hold, if it was held.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        still_held: Vec<Text>,
        /// How late the renewals were: see [`Home::record_pauses`](crate::Home::record_pauses).
        #[serde(rename = "longest_pause_ms", with = "optional_millis")]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        longest_pause: Option<Duration>,
    },
    /// The labels of a hold were replaced.
    ClaimUpdated {
        /// The claim's id.
        claim: Revision,
        /// Its fencing token.
        token: Revision,
        /// Its parameters, with the new labels.
        #[serde(flatten)]
        spec: Arc<ClaimSpec>,
    },
    /// A claim is awaited at another server from now on, or no server has to return its grant any more. For servers
    /// only.
    ClaimAwaited {
        /// The claim's id.
        #[serde(rename = "awaited")]
        claim: Revision,
        /// See [`ClaimSpec::waiting_server`].
        #[serde(rename = "waiting_server", skip_serializing_if = "Option::is_none")]
        at: Option<ServerId>,
    },
    /// A session cancelled its plain calls for these names: those that a server received before have no effect any
    /// more. For servers only.
    AcquireCancelled {
        /// The session's id.
        session: Text,
        /// The locks.
        names: Names,
    },
    /// A holder was asked to hand over; it keeps the lock until it confirms.
    TransferStarted {
        /// The holder's claim.
        claim: Revision,
        /// Its fencing token.
        token: Revision,
        /// Its parameters.
        #[serde(flatten)]
        spec: Arc<ClaimSpec>,
        /// The waiting claim that is to hold next. `None`: the first waiter at that time.
        #[serde(rename = "transfer_to", skip_serializing_if = "Option::is_none")]
        to: Option<Revision>,
        /// The session of that claim.
        #[serde(skip_serializing_if = "Option::is_none")]
        to_session: Option<Text>,
        /// How long the holder may keep the lock.
        #[serde(rename = "drain_ms", with = "millis")]
        drain: Duration,
        /// The operator who asked. `None`: a waiter of higher priority, by the lock's settings.
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<Eviction>,
    },
    /// A holder did not confirm in time: it keeps the lock, and the transfer is cancelled.
    TransferCancelled {
        /// The holder's claim.
        claim: Revision,
        /// Its fencing token.
        token: Revision,
        /// Its parameters.
        #[serde(flatten)]
        spec: Arc<ClaimSpec>,
    },
    /// A hold was handed over: one claim ended and another was granted, with this event's revision as its fencing
    /// token. Both belong to the same session if it requested a hold that it has had since before the database lost
    /// history.
    #[serde(skip)]
    ClaimTransferred {
        /// The claim that ended.
        from: Revision,
        /// The fencing token it was held with.
        from_token: Revision,
        /// Its parameters.
        from_spec: Arc<ClaimSpec>,
        /// Those of its names that other claims, except the granted one, still hold.
        still_held: Vec<Text>,
        /// How late its renewals were: see [`Home::record_pauses`](crate::Home::record_pauses).
        longest_pause: Option<Duration>,
        /// The claim that was granted.
        claim: Revision,
        /// The parameters of the granted claim.
        spec: Arc<ClaimSpec>,
    },
    /// An operator changed the settings of a lock.
    LockConfigured {
        /// The lock.
        #[serde(rename = "names", with = "one")]
        name: Text,
        /// The new settings.
        #[serde(flatten)]
        settings: LockSettings,
        /// The operator and the reason.
        by: Eviction,
    },
    /// A group changed.
    Group {
        /// The revision of the event that created the group: this event's own if this one did.
        #[serde(rename = "group_id")]
        id: Revision,
        /// The group.
        group: Text,
        /// The change.
        #[serde(flatten)]
        change: GroupChange,
    },
    /// A client has connected with this epoch: it and all its sessions have this home from now on.
    ClientConnected {
        /// The client.
        client: Text,
        /// Its epoch.
        epoch: u64,
        /// Its home.
        home: ServerId,
        /// The authenticated identity.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        identity: Option<Text>,
    },
    /// A client that had nothing left has ended.
    ClientEnded {
        /// The client.
        client: Text,
    },
    /// Everything that had a dead server as home has a new home. Each such session lives on for at least a full TTL.
    ServerAdopted {
        /// The dead server.
        dead: ServerId,
        /// The new home.
        by: ServerId,
    },
    /// A server no longer waits for the commands that it has forwarded: those that were not decided before this event
    /// never will be. Changes nothing else. For servers only.
    ForwardsVoided {
        /// The server that forwarded them.
        by: ServerId,
    },
    /// The database lost the events after `after`, or may have: any grant among them is void. This event's revision is
    /// greater than all of theirs. Every group leader has it as its token from now on, and a session that requests from
    /// its home a hold that it has already is granted that anew.
    HistoryLost {
        /// The last revision before the loss.
        after: Revision,
    },
}

impl Event {
    /// The parameters of the claims that it is about: two for a handoff, one for most others.
    fn specs(&self) -> impl Iterator<Item = &ClaimSpec> {
        let (first, second) = match self {
            Self::ClaimQueued(spec)
            | Self::ClaimGranted { spec, .. }
            | Self::ClaimLingering { spec, .. }
            | Self::ClaimEnded { spec, .. }
            | Self::ClaimUpdated { spec, .. }
            | Self::TransferStarted { spec, .. }
            | Self::TransferCancelled { spec, .. } => (Some(&**spec), None),
            Self::ClaimTransferred { from_spec, spec, .. } => (Some(&**from_spec), Some(&**spec)),
            Self::LockConfigured { .. }
            | Self::ClaimAwaited { .. }
            | Self::AcquireCancelled { .. }
            | Self::Group { .. }
            | Self::SessionOpened(_)
            | Self::SessionMoved { .. }
            | Self::SessionEnded { .. }
            | Self::ClientConnected { .. }
            | Self::ClientEnded { .. }
            | Self::ServerAdopted { .. }
            | Self::ForwardsVoided { .. }
            | Self::HistoryLost { .. } => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// The affected locks. A handoff between claims to several locks may yield one twice.
    pub fn locks(&self) -> impl Iterator<Item = &Text> {
        let configured = match self {
            Self::LockConfigured { name, .. } => Some(name),
            _ => None,
        };
        self.specs().flat_map(|spec| spec.names.iter()).chain(configured)
    }

    /// Whether it affects a claim to this name.
    #[must_use]
    pub fn is_about(&self, name: &str) -> bool {
        self.specs().any(|spec| spec.names.iter().any(|claimed| **claimed == *name))
    }

    /// The approximate size in memory in bytes, including shared data.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let claims: usize = self.specs().map(ClaimSpec::bytes).sum();
        let others = match self {
            Self::AcquireCancelled { names, .. } => names.iter().map(|name| name.len()).sum(),
            Self::SessionOpened(spec) => metadata_bytes(&spec.metadata),
            Self::Group { change, .. } => match change {
                GroupChange::Joined { spec, .. } => metadata_bytes(&spec.metadata),
                GroupChange::Configured { config } => config.as_ref().map_or(0, |config| config.len()),
                GroupChange::Assigned { assignments, .. } => assignments.values().map(|text| text.len()).sum(),
                GroupChange::Left { .. } => 0,
            },
            _ => 0,
        };
        size_of::<Recorded>() + claims + others
    }
}

/// An event and its revision.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Recorded {
    /// The revision.
    pub revision: Revision,
    /// The event.
    #[serde(flatten)]
    pub event: Event,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words are stored, and clients depend on them.
    #[test]
    fn names_of_end_reasons_are_stable() {
        let words = ["released", "expired", "disconnected", "closed", "evicted", "transferred"];
        assert_eq!(EndReason::ALL.map(EndReason::as_str), words);
    }
}
