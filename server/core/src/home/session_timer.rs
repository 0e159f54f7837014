//! The timer of one session: its deadline, and what that depends on. There may be very many, so each must be small.

use std::time::Duration;

use super::nanos::Nanos;
use super::pauses::Pauses;
use super::{RenewError, Tick};
use crate::end::EndReason;
use crate::model::{Revision, SessionSpec};
use crate::names::Text;

/// The timer of a session at home here.
#[derive(Debug, Default)]
pub(super) struct SessionTimer {
    pub(super) opened: Revision,
    /// The authenticated identity that opened it; `None`: no authentication was required.
    pub(super) identity: Option<Text>,
    /// The client that has declared it; `None`: it was opened by a call.
    pub(super) client: Option<Text>,
    /// The number by which that client has declared it.
    pub(super) declared: u64,
    /// Whether it is renewed with that client. Otherwise it is paused, or its time is up.
    pub(super) runs: bool,
    ttl: Nanos,
    disconnect_grace: Option<Nanos>,
    renewed: Nanos,
    /// The expiry promised before its TTL was changed: the new TTL does not end it earlier.
    promised_expiry: Nanos,
    /// Since when its client has been disconnected, by its own side.
    disconnected: Option<Nanos>,
    /// The reason for its end, once its time was up. From then on nothing renews it.
    pub(super) ended: Option<EndReason>,
    pub(super) pauses: Pauses,
    /// When the only current timer of this session expires, or expired.
    pub(super) due: Nanos,
}

impl SessionTimer {
    /// A session that arrived here at `now`.
    pub(super) fn new(spec: &SessionSpec, opened: Revision, now: Tick) -> Self {
        Self {
            opened,
            identity: spec.identity.clone(),
            client: spec.client.clone(),
            declared: spec.declared,
            ttl: spec.ttl.into(),
            disconnect_grace: spec.disconnect_grace.map(Nanos::from),
            renewed: now.into(),
            ..Self::default()
        }
    }

    /// Renews it, with this TTL from now on. Its client is connected.
    pub(super) fn update(&mut self, ttl: Duration, floor: Tick, now: Tick) {
        self.promised_expiry = self.expiry(floor.into());
        self.renew(now);
        (self.ttl, self.ended, self.disconnected) = (ttl.into(), None, None);
    }

    pub(super) fn ttl(&self) -> Duration {
        self.ttl.into()
    }

    pub(super) fn renewed(&self) -> Tick {
        self.renewed.into()
    }

    /// Starts its disconnect grace. Returns whether it has one that was not started before.
    pub(super) fn disconnect(&mut self, now: Tick) -> bool {
        let starts = self.disconnect_grace.is_some() && self.disconnected.is_none();
        if starts {
            self.disconnected = Some(now.into());
        }
        starts
    }

    pub(super) fn renew(&mut self, now: Tick) {
        let now = Nanos::from(now);
        self.pauses.record(now, now - self.renewed);
        self.renewed = now;
    }

    /// Counts its TTL from its last renewal on, which was at `floor` if that is later.
    pub(super) fn pause(&mut self, floor: Tick) {
        self.renewed = self.renewed.max(floor.into());
    }

    /// When its TTL ends, counted from `floor` at the earliest.
    fn expiry(&self, floor: Nanos) -> Nanos {
        (self.renewed.max(floor) + self.ttl).max(self.promised_expiry)
    }

    /// When it ends unless renewed.
    pub(super) fn deadline(&self, floor: Tick) -> Nanos {
        let floor = Nanos::from(floor);
        let expiry = self.expiry(floor);
        match self.disconnected.zip(self.disconnect_grace) {
            Some((since, grace)) => expiry.min(since.max(floor) + grace),
            None => expiry,
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
