//! Events: what happened. The only thing stored in history and the only thing watched.

use std::sync::Arc;
use std::time::Duration;

use crate::end::{EndReason, Eviction};
use crate::group::GroupChange;
use crate::model::{ClaimSpec, LockSettings, Revision, ServerId, SessionSpec, metadata_bytes};
use crate::names::{Names, Text};

/// Something that happened in a namespace. Each tells all that a reader of history needs, without the table of its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A session was opened; it is `opened` at this event's revision.
    SessionOpened(Arc<SessionSpec>),
    /// A session got this home, TTL, disconnect grace and count of attachments from now on.
    SessionAttached {
        /// The session's id.
        session: Text,
        /// The revision that opened it.
        opened: Revision,
        /// Its home from now on.
        home: ServerId,
        /// Its TTL from now on.
        ttl: Duration,
        /// Its disconnect grace from now on.
        disconnect_grace: Option<Duration>,
        /// Its client's count of its attachments from now on.
        attachment: u64,
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
        /// What it was made with.
        spec: Arc<ClaimSpec>,
    },
    /// A hold is over, but its minimum hold is not.
    ClaimLingering {
        /// The claim's id.
        claim: Revision,
        /// The fencing token it was held with.
        token: Revision,
        /// What it was made with.
        spec: Arc<ClaimSpec>,
        /// Why the hold is over.
        reason: EndReason,
        /// The server that counts the minimum hold.
        home: ServerId,
        /// Those of its names that others go on holding.
        still_held: Vec<Text>,
        /// How late the renewals were: see [`Home::tell_pauses`](crate::Home::tell_pauses).
        longest_pause: Option<Duration>,
    },
    /// A claim is over and its locks are free for the next.
    ClaimEnded {
        /// The claim's id.
        claim: Revision,
        /// The fencing token it was held with; none if it was never granted.
        token: Option<Revision>,
        /// What it was made with.
        spec: Arc<ClaimSpec>,
        /// Why it ended.
        reason: EndReason,
        /// Who evicted it, if that is why.
        eviction: Option<Eviction>,
        /// Those of its names that others go on holding, if it was held.
        still_held: Vec<Text>,
        /// How late the renewals were: see [`Home::tell_pauses`](crate::Home::tell_pauses).
        longest_pause: Option<Duration>,
    },
    /// The labels of a hold are others from now on.
    ClaimUpdated {
        /// The claim's id.
        claim: Revision,
        /// Its fencing token.
        token: Revision,
        /// What it was made with, and these labels.
        spec: Arc<ClaimSpec>,
    },
    /// A claim is awaited at another server from now on, or nobody has to return its grant any more. For the servers only.
    ClaimAwaited {
        /// The claim's id.
        claim: Revision,
        /// As in [`ClaimSpec::awaited_at`].
        at: Option<ServerId>,
    },
    /// A session cancelled what it had asked for by plain calls: those for these names that a server received before change nothing any
    /// more. For the servers only.
    AcquireCancelled {
        /// The session's id.
        session: Text,
        /// The locks.
        names: Names,
    },
    /// A holder was asked to hand over; it holds on until it confirms.
    TransferStarted {
        /// The holder's claim.
        claim: Revision,
        /// Its fencing token.
        token: Revision,
        /// What it was made with.
        spec: Arc<ClaimSpec>,
        /// The waiting claim that is to hold next. `None`: whoever is first then.
        to: Option<Revision>,
        /// The session of that claim.
        to_session: Option<Text>,
        /// For how long the holder may go on.
        drain: Duration,
        /// Who asked. `None`: a waiter of higher priority, by the lock's settings.
        by: Option<Eviction>,
    },
    /// A holder did not confirm in time: it holds on, and is no longer asked to hand over.
    TransferCancelled {
        /// The holder's claim.
        claim: Revision,
        /// Its fencing token.
        token: Revision,
        /// What it was made with.
        spec: Arc<ClaimSpec>,
    },
    /// A hold was handed over: one claim ended and another was granted, with this event's revision as its fencing token. Both
    /// are the same session's if it asked for what it had held since before the database lost history.
    ClaimTransferred {
        /// The claim that ended.
        from: Revision,
        /// The fencing token it was held with.
        from_token: Revision,
        /// What it was made with.
        from_spec: Arc<ClaimSpec>,
        /// Those of its names that others, the next aside, go on holding.
        still_held: Vec<Text>,
        /// How late its renewals were: see [`Home::tell_pauses`](crate::Home::tell_pauses).
        longest_pause: Option<Duration>,
        /// The claim that was granted.
        claim: Revision,
        /// What that was made with.
        spec: Arc<ClaimSpec>,
    },
    /// An operator set what claims to a lock have to go by.
    LockConfigured {
        /// The lock.
        name: Text,
        /// What holds from now on.
        settings: LockSettings,
        /// Who set it, and why.
        by: Eviction,
    },
    /// Something happened to a group.
    Group {
        /// The revision of the event that created the group: this event's own if this one did.
        id: Revision,
        /// The group.
        group: Text,
        /// What happened.
        change: GroupChange,
    },
    /// All that had a dead server as home has a new one. Each such session lives on for a full TTL at least.
    ServerAdopted {
        /// The server that is dead.
        dead: ServerId,
        /// The home from now on.
        by: ServerId,
    },
    /// A server does not wait any more for what it had passed to others: what of that was not decided before this event
    /// never will be. Changes nothing else, and is there for the servers only.
    PassesVoided {
        /// The server that had passed it.
        by: ServerId,
    },
    /// The database lost the events after `after`, or may have: whatever was handed out there is void. This event's
    /// revision is beyond all of them. Who leads a group does so with it as token from now on, and who asks its home for
    /// what it holds already is granted that anew.
    HistoryLost {
        /// The last revision before the loss.
        after: Revision,
    },
}

impl Event {
    /// What the claims that it is about were made with: two of a handoff, one of most others.
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
            | Self::SessionAttached { .. }
            | Self::SessionEnded { .. }
            | Self::ServerAdopted { .. }
            | Self::PassesVoided { .. }
            | Self::HistoryLost { .. } => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// The locks that it happened to. Of a handoff between claims to several locks one may come twice.
    pub fn locks(&self) -> impl Iterator<Item = &Text> {
        let configured = match self {
            Self::LockConfigured { name, .. } => Some(name),
            _ => None,
        };
        self.specs().flat_map(|spec| spec.names.iter()).chain(configured)
    }

    /// Whether it happened to a claim to this name.
    #[must_use]
    pub fn is_about(&self, name: &str) -> bool {
        self.specs().any(|spec| spec.names.iter().any(|claimed| **claimed == *name))
    }

    /// About how many bytes it takes in memory, what it shares with others included.
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

/// An event with the revision it made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The revision.
    pub revision: Revision,
    /// The event.
    pub event: Event,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// They are stored, and clients go by them.
    #[test]
    fn the_words_for_reasons_stay_as_they_are() {
        let words = ["released", "expired", "disconnected", "closed", "evicted", "transferred"];
        assert_eq!(EndReason::ALL.map(EndReason::as_str), words);
    }
}
