//! How long a session is valid.

use std::time::Duration;

use tenure_proto::v1;

use crate::clock::Moment;
use crate::convert::from_wire;
use crate::error::LostReason;

/// The validity of a session, as its server computed it: it counts from when the last acknowledged renewal was sent,
/// never from when the acknowledgement arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Validity {
    /// When the last acknowledged renewal was sent.
    pub(crate) renewed: Moment,
    /// When the next renewal is due, from then.
    pub(crate) renew_after: Duration,
    /// When the session is at risk, from then.
    pub(crate) warn_after: Duration,
    /// When it is lost, from then.
    pub(crate) valid_for: Duration,
    /// Whether it is not renewed, because the program makes no progress.
    pub(crate) is_paused: bool,
}

impl Validity {
    /// From the state of a session that was renewed at `renewed`.
    pub(super) fn new(state: &v1::OpenState, renewed: Moment, is_paused: bool) -> Self {
        let [renew_after, warn_after, valid_for] =
            [state.renew_after, state.warn_after, state.valid_for].map(from_wire);
        Self { renewed, renew_after, warn_after, valid_for, is_paused }
    }

    /// From when on the session is at risk.
    pub(crate) fn at_risk_from(&self) -> Moment {
        self.renewed.after(self.warn_after.min(self.valid_for))
    }

    /// From when on the session is lost.
    pub(crate) fn until(&self) -> Moment {
        self.renewed.after(self.valid_for)
    }

    /// Why it is lost, if it is: finally, since the server may have granted its locks to others.
    pub(crate) fn loss(&self, now: Moment) -> Option<LostReason> {
        let reason = if self.is_paused { LostReason::Stalled } else { LostReason::Unrenewed };
        (now >= self.until()).then_some(reason)
    }
}
