//! The timer of one session: its deadline, and what that depends on. There may be very many, so each must be small.

use std::time::Duration;

use super::nanos::Nanos;
use super::pauses::Pauses;
use super::{RenewError, StreamId, Tick};
use crate::end::EndReason;
use crate::model::Revision;
use crate::names::Text;

/// The timer of a session at home here.
#[derive(Debug, Default)]
pub(super) struct SessionTimer {
    pub(super) opened: Revision,
    /// The highest attachment count that its client has reported.
    pub(super) attachment: u64,
    /// The authenticated identity that opened it; `None`: no authentication was required.
    pub(super) identity: Option<Text>,
    /// The program that opened it; `None`: programs are not compared.
    pub(super) client: Option<Text>,
    /// The number by which that client has declared it; 0: it was opened by a call.
    pub(super) declared: u64,
    /// Whether it is renewed with that client. Otherwise it is paused, or its time is up.
    pub(super) runs: bool,
    ttl: Nanos,
    /// Applies to streams that it is attached to from now on.
    disconnect_grace: Option<Nanos>,
    renewed: Nanos,
    /// The expiry promised before its TTL was changed: the new TTL does not end it earlier.
    promised_expiry: Nanos,
    /// The expiry promised to callers without a stream: it lives at least until then, whatever happens to its stream.
    call_expiry: Nanos,
    stream: StreamState,
    /// The reason for its end, once its time was up. From then on nothing renews it.
    pub(super) ended: Option<EndReason>,
    pub(super) pauses: Pauses,
    /// When the only current timer of this session expires, or expired.
    pub(super) due: Nanos,
}

/// The link between a session and its client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum StreamState {
    /// No stream of it is known here: only the TTL counts.
    #[default]
    None,
    /// A stream, and the grace in force when it was attached: its client relies on that one.
    Attached { stream: StreamId, grace: Option<Nanos> },
    /// Its stream has broken.
    Disconnected { since: Nanos, grace: Nanos },
}

impl SessionTimer {
    /// A session that arrived here at `now`.
    pub(super) fn new(opened: Revision, ttl: Duration, disconnect_grace: Option<Duration>, now: Tick) -> Self {
        let disconnect_grace = disconnect_grace.map(Nanos::from);
        Self { opened, ttl: ttl.into(), disconnect_grace, renewed: now.into(), ..Self::default() }
    }

    /// Attaches it anew, with this TTL and disconnect grace from now on.
    pub(super) fn update(&mut self, ttl: Duration, disconnect_grace: Option<Duration>, floor: Tick, now: Tick) {
        self.promised_expiry = self.expiry(floor.into());
        self.renew(now);
        self.ttl = ttl.into();
        self.disconnect_grace = disconnect_grace.map(Nanos::from);
        self.ended = None;
    }

    pub(super) fn ttl(&self) -> Duration {
        self.ttl.into()
    }

    pub(super) fn disconnect_grace(&self) -> Option<Duration> {
        self.disconnect_grace.map(Duration::from)
    }

    pub(super) fn renewed(&self) -> Tick {
        self.renewed.into()
    }

    pub(super) fn stream(&self) -> Option<StreamId> {
        match self.stream {
            StreamState::Attached { stream, .. } => Some(stream),
            StreamState::None | StreamState::Disconnected { .. } => None,
        }
    }

    /// Attaches it to a stream. Returns whether it has a disconnect grace.
    pub(super) fn attach(&mut self, stream: StreamId) -> bool {
        let grace = self.disconnect_grace;
        self.stream = StreamState::Attached { stream, grace };
        grace.is_some()
    }

    /// Starts its disconnect grace, if this is the stream that it was attached to, or was to be attached to. Returns
    /// whether it did.
    pub(super) fn disconnect(&mut self, stream: Option<StreamId>, now: Tick) -> bool {
        let grace = match (self.stream, stream) {
            (StreamState::Attached { stream: at, grace }, Some(stream)) if stream == at => grace,
            (StreamState::None, None) => self.disconnect_grace,
            _ => None,
        };
        if let Some(grace) = grace {
            self.stream = StreamState::Disconnected { since: now.into(), grace };
        }
        grace.is_some()
    }

    pub(super) fn renew(&mut self, now: Tick) {
        let now = Nanos::from(now);
        self.pauses.record(now, now - self.renewed);
        self.renewed = now;
    }

    /// Renews it for a caller without a stream. If its stream has broken, its client has reconnected without one.
    pub(super) fn renew_by_call(&mut self, now: Tick) {
        self.renew(now);
        self.call_expiry = self.renewed + self.ttl;
        if let StreamState::Disconnected { .. } = self.stream {
            self.stream = StreamState::None;
        }
    }

    /// Its client has connected again.
    pub(super) fn reconnect(&mut self) {
        self.stream = StreamState::None;
    }

    /// Counts its TTL from its last renewal on, which was at `floor` if that is later.
    pub(super) fn pause(&mut self, floor: Tick) {
        self.renewed = self.renewed.max(floor.into());
        self.runs = false;
    }

    /// When its TTL ends, counted from `floor` at the earliest.
    fn expiry(&self, floor: Nanos) -> Nanos {
        (self.renewed.max(floor) + self.ttl).max(self.promised_expiry)
    }

    /// When it ends unless renewed.
    pub(super) fn deadline(&self, floor: Tick) -> Nanos {
        let floor = Nanos::from(floor);
        let expiry = self.expiry(floor);
        match self.stream {
            StreamState::Disconnected { since, grace } => expiry.min(since.max(floor) + grace).max(self.call_expiry),
            StreamState::None | StreamState::Attached { .. } => expiry.max(self.call_expiry),
        }
    }

    /// Checks whether its time is up, and if so makes that final.
    pub(super) fn check(&mut self, floor: Tick, now: Tick) -> Result<(), RenewError> {
        let deadline = self.deadline(floor);
        if deadline <= now.into() {
            let early = deadline < self.expiry(floor.into());
            self.ended.get_or_insert(if early { EndReason::Disconnected } else { EndReason::Expired });
        }
        self.ended.map_or(Ok(()), |reason| Err(RenewError::Ended(reason)))
    }
}
