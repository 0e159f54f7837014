//! Planned handoffs, from the holder's side and from an operator's.

use std::time::Duration;

use tenure_proto::v1;

use crate::clock::{self, Moment};
use crate::convert::{from_wire, optional};

/// The part of the drain that is reserved for the release to reach the server in time: a fifth ...
const MARGIN_DIVISOR: u32 = 5;
/// ... but at least this ...
const MARGIN_MIN: Duration = Duration::from_millis(20);
/// ... and at most this.
const MARGIN_MAX: Duration = Duration::from_secs(1);

/// A request to the holder to stop its work and hand over. It confirms by releasing; otherwise it keeps the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferRequest {
    /// How long the holder may continue, from the request.
    pub drain: Duration,
    /// The operator of the request. `None`: a better candidate waits, and by the lock's settings it is handed the lock;
    /// or the client was moving to another server when the request arrived.
    pub operator: Option<String>,
    /// The operator's note, if the operator is known.
    pub note: Option<String>,
    stop_at: Moment,
}

impl TransferRequest {
    pub(crate) fn received(request: v1::PendingTransfer, now: Moment) -> Self {
        let drain = request.drain.map(from_wire).unwrap_or_default();
        let (operator, note) = (optional(request.operator), optional(request.note));
        Self { drain, operator, note, stop_at: stop_at(drain, now) }
    }

    /// How long the work may continue, if the release is to reach the server in time. Zero when that has passed.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.stop_at.since(clock::now())
    }

    /// Waits until the work must stop.
    pub(crate) async fn drained(&self) {
        while !self.remaining().is_zero() {
            tokio::time::sleep(self.remaining()).await;
        }
    }
}

fn stop_at(drain: Duration, now: Moment) -> Moment {
    let margin = (drain / MARGIN_DIVISOR).clamp(MARGIN_MIN, MARGIN_MAX);
    now.after(drain.saturating_sub(margin))
}

/// How to hand over a lock that another session holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransferOptions {
    pub(crate) token: Option<u64>,
    pub(crate) to: Option<String>,
    pub(crate) drain: Option<Duration>,
    pub(crate) operator: String,
    pub(crate) note: String,
}

impl TransferOptions {
    /// To the first in the queue, on behalf of `operator` (1 to 255 bytes, for history).
    #[must_use]
    pub fn by(operator: impl Into<String>) -> Self {
        Self { operator: operator.into(), ..Self::default() }
    }

    /// To this session, which must be waiting for the lock.
    #[must_use]
    pub fn to(self, session_id: impl Into<String>) -> Self {
        Self { to: Some(session_id.into()), ..self }
    }

    /// Only the hold with this token. Required if several sessions hold the lock.
    #[must_use]
    pub fn token(self, token: u64) -> Self {
        Self { token: Some(token), ..self }
    }

    /// How long the holder may continue, to stop its work: 100 ms to 1 h. Default: 10 s.
    #[must_use]
    pub fn drain(self, drain: Duration) -> Self {
        Self { drain: Some(drain), ..self }
    }

    /// The reason, for history: at most 255 bytes. Default: empty.
    #[must_use]
    pub fn note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_stops_before_the_drain_is_over() {
        let now = Moment(Duration::from_secs(100));
        for (drain, left) in [(100, 80), (1_000, 800), (10_000, 9_000), (60_000, 59_000)] {
            let (drain, left) = (Duration::from_millis(drain), Duration::from_millis(left));
            assert_eq!(stop_at(drain, now), now.after(left), "{drain:?}");
        }
    }
}
