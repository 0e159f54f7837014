//! Converts states into messages, and computes how long a session is valid for its client.
//!
//! A session without a disconnect grace is valid for its TTL from the sending of the last acknowledged keep-alive. One
//! with a grace ends that long after the server has seen its stream break, and the client may be the last to see that:
//! so it is valid for the grace from then at most. The shorter of the two is its *window*, the unit of all other times.

use std::time::Duration;

use tenure_core::{Claim, Text};
use tenure_proto::v1;
use tenure_proto::v1::state::Kind;

use crate::grpc::convert;
use crate::sequencer::ItemState;

/// The maximum difference in rate between the clocks of the client and of the server: one part in a hundred.
const DRIFT_DIVISOR: u32 = 100;
/// A further margin, so that the program is notified before the deadline and not at it: a twentieth of the window ...
const MARGIN_DIVISOR: u32 = 20;
/// ... but at least this (timers are not sharper than a few milliseconds) ...
const MARGIN_MIN: Duration = Duration::from_millis(10);
/// ... and at most this.
const MARGIN_MAX: Duration = Duration::from_millis(500);
/// A session is at risk when this part of its window is left: one renewal was missed.
const RISK_DIVISOR: u32 = 3;
/// The number of renewals in a window.
const RENEWALS_PER_WINDOW: u32 = 3;

/// When a client must act for a session, counted from when the last acknowledged keep-alive was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Timing {
    renew_after: Duration,
    warn_after: Duration,
    valid_for: Duration,
}

impl Timing {
    fn of(ttl: Duration, disconnect_grace: Option<Duration>) -> Self {
        let window = disconnect_grace.map_or(ttl, |grace| grace.min(ttl));
        let margin = (window / MARGIN_DIVISOR).clamp(MARGIN_MIN, MARGIN_MAX);
        let valid_for = window.saturating_sub(window / DRIFT_DIVISOR).saturating_sub(margin);
        let warn_after = valid_for.saturating_sub(window / RISK_DIVISOR);
        Self { renew_after: window / RENEWALS_PER_WINDOW, warn_after, valid_for }
    }
}

/// The state of what has this number.
pub(super) fn state(number: u64, state: ItemState) -> v1::State {
    let kind = match state {
        ItemState::Open { session, opened, ttl, disconnect_grace } => {
            let Timing { renew_after, warn_after, valid_for } = Timing::of(ttl, disconnect_grace);
            Kind::Open(v1::OpenState {
                session_id: session.to_string(),
                opened_revision: opened.0,
                renew_after: Some(convert::duration(renew_after)),
                warn_after: Some(convert::duration(warn_after)),
                valid_for: Some(convert::duration(valid_for)),
            })
        }
        ItemState::Waiting { holder } => {
            Kind::Waiting(v1::WaitingState { holder: holder.map(|holder| Box::new(convert::claim(&holder))) })
        }
        ItemState::Held { token, transfer } => Kind::Held(v1::HeldState {
            token: token.0,
            transfer: transfer.map(|transfer| v1::PendingTransfer {
                to_session_id: String::new(),
                drain: Some(convert::duration(transfer.drain)),
                operator: text(transfer.by.as_ref().map(|by| &by.operator)),
                note: text(transfer.by.as_ref().map(|by| &by.note)),
            }),
        }),
        ItemState::Joined { member } => Kind::Joined(v1::JoinedState { member: member.0 }),
        ItemState::Ended { reason, eviction } => Kind::Ended(v1::EndedState {
            reason: reason.map_or(v1::EndReason::Unspecified, convert::end_reason).into(),
            operator: text(eviction.as_ref().map(|eviction| &eviction.operator)),
            note: text(eviction.as_ref().map(|eviction| &eviction.note)),
        }),
    };
    v1::State { number, kind: Some(kind) }
}

/// The state of a claim that could not be granted at once.
pub(super) fn busy(number: u64, blocker: &Claim) -> v1::State {
    let holder = Some(Box::new(convert::claim(blocker)));
    v1::State { number, kind: Some(Kind::Busy(v1::BusyState { holder })) }
}

fn text(text: Option<&Text>) -> String {
    text.map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn session_is_valid_for_its_ttl_minus_drift_and_margin() {
        let timing = Timing { renew_after: ms(400), warn_after: ms(728), valid_for: ms(1_200 - 12 - 60) };
        assert_eq!(Timing::of(ms(1_200), None), timing);
        assert_eq!(Timing::of(ms(30_000), None).valid_for, ms(30_000 - 300 - 500), "the margin is bounded");
    }

    #[test]
    fn disconnect_grace_limits_the_validity() {
        assert_eq!(Timing::of(ms(10_000), Some(ms(300))), Timing::of(ms(300), None));
        assert_eq!(Timing::of(ms(300), Some(ms(10_000))), Timing::of(ms(300), None));
    }

    /// A keep-alive that is not acknowledged leaves time to connect to another server before the session is lost.
    #[test]
    fn failover_fits_into_the_window() {
        for window in [100, 500, 1_200, 10_000, 86_400_000].map(ms) {
            let Timing { renew_after, warn_after, valid_for } = Timing::of(window, None);
            assert!(renew_after < warn_after && warn_after < valid_for, "{window:?}");
            assert!(valid_for - warn_after >= window / 4, "{window:?}");
        }
    }

    /// The server ends a session at the earliest when the window has passed on a clock that runs faster by one in a
    /// hundred, since it received what the client had sent before.
    #[test]
    fn validity_ends_before_the_server_may_end_the_session() {
        for window in [100, 500, 1_200, 10_000, 86_400_000].map(ms) {
            assert!(Timing::of(window, None).valid_for < window.mul_f64(1.0 / 1.01), "{window:?}");
        }
    }
}
