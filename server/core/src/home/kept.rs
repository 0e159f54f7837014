//! A session as its home keeps it: until when it lives.

use std::time::Duration;

use super::{NotKept, StreamId, Tick};
use crate::event::EndReason;
use crate::model::Revision;
use crate::pauses::Pauses;

/// A session that is kept.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) opened: Revision,
    pub(super) ttl: Duration,
    /// For the streams that it is attached to from now on.
    pub(super) disconnect_grace: Option<Duration>,
    pub(super) renewed: Tick,
    /// What was promised before its TTL was changed: the new one does not end it earlier.
    pub(super) promised: Tick,
    /// What callers without a stream were promised: whatever becomes of its stream, it lives at least until then.
    pub(super) called: Tick,
    pub(super) bond: Bond,
    /// Why it is over, once its time was up. From then on nothing renews it.
    pub(super) over: Option<EndReason>,
    pub(super) pauses: Pauses,
    /// The one timer of this session that counts.
    pub(super) timer: Tick,
}

/// What ties a session to its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bond {
    /// No stream of it was seen here: only the TTL counts.
    None,
    /// A stream, and the grace that was in force when it was attached: its client counts on that one.
    Attached { stream: StreamId, grace: Option<Duration> },
    /// Its stream has broken.
    Broken { since: Tick, grace: Duration },
}

impl Kept {
    /// The stream that it is attached to.
    pub(super) fn stream(&self) -> Option<StreamId> {
        match self.bond {
            Bond::Attached { stream, .. } => Some(stream),
            Bond::None | Bond::Broken { .. } => None,
        }
    }

    /// It is renewed.
    pub(super) fn renew(&mut self, now: Tick) {
        self.pauses.ended(now, now.saturating_sub(self.renewed));
        self.renewed = now;
    }

    /// When its TTL ends. Nothing counts from earlier than `floor`.
    pub(super) fn expiry(&self, floor: Tick) -> Tick {
        (self.renewed.max(floor) + self.ttl).max(self.promised)
    }

    /// When its time is up.
    pub(super) fn deadline(&self, floor: Tick) -> Tick {
        let expiry = self.expiry(floor);
        match self.bond {
            Bond::Broken { since, grace } => expiry.min(since.max(floor) + grace).max(self.called),
            Bond::None | Bond::Attached { .. } => expiry.max(self.called),
        }
    }

    /// Looks whether its time is up, and if so makes that final.
    pub(super) fn check(&mut self, floor: Tick, now: Tick) -> Result<(), NotKept> {
        let deadline = self.deadline(floor);
        if deadline <= now {
            let early = deadline < self.expiry(floor);
            self.over.get_or_insert(if early { EndReason::Disconnected } else { EndReason::Expired });
        }
        self.over.map_or(Ok(()), |reason| Err(NotKept::Over(reason)))
    }
}
