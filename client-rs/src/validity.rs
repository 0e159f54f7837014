//! How long a session is valid: pure arithmetic, with the time passed in.
//!
//! A session without a disconnect grace is valid for its TTL from the sending of the last answered renewal. One with a
//! grace ends that long after the server has seen its stream break, and the client may be the last to see that: so it
//! is valid for the grace from then at most. The shorter of the two is its *window*, the unit of all other times.

use std::time::Duration;

use crate::clock::Moment;

/// The maximum difference in rate between the clocks of this machine and of the server: one part in a hundred.
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
/// How long the answer to a renewal may take before the stream counts as broken, as a part of the window. With the time
/// between renewals it leaves 5/12 of the window to attach at another server.
const SILENCE_DIVISOR: u32 = 4;

/// The phase of a session's validity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Recently renewed.
    Healthy,
    /// Valid, but a renewal is overdue.
    AtRisk,
    /// The server may end it. This phase is final.
    Over,
}

/// The validity of one session. Its end is final: a late answer has no effect.
#[derive(Clone, Debug)]
pub(crate) struct Validity {
    ttl: Duration,
    disconnect_grace: Option<Duration>,
    /// When the last answered command was sent.
    heard: Moment,
    /// When the TTL ends.
    expires: Moment,
    over: bool,
}

impl Validity {
    /// The validity of a session that was opened by a command sent at `sent`.
    pub(crate) fn new(ttl: Duration, disconnect_grace: Option<Duration>, sent: Moment) -> Self {
        Self { ttl, disconnect_grace, heard: sent, expires: deadline(ttl, sent), over: false }
    }

    /// A renewal that was sent at `sent` was answered with `ttl`. No effect if that is too late.
    pub(crate) fn renewed(&mut self, ttl: Duration, sent: Moment, now: Moment) {
        self.attached(ttl, self.disconnect_grace, sent, now);
    }

    /// A command to attach it that was sent at `sent` was answered with `ttl` and `disconnect_grace`. No effect if that
    /// is too late.
    pub(crate) fn attached(&mut self, ttl: Duration, disconnect_grace: Option<Duration>, sent: Moment, now: Moment) {
        if self.phase(now) == Phase::Over {
            return;
        }
        self.ttl = ttl;
        self.disconnect_grace = disconnect_grace;
        // Answers may overtake each other; the one to the last command applies.
        self.heard = self.heard.max(sent);
        // A TTL that was granted before remains. A grace does not: with the new stream the new one is in force.
        self.expires = self.expires.max(deadline(ttl, sent));
        self.phase(now);
    }

    /// Ends it, for another reason than expiry.
    pub(crate) fn end(&mut self) {
        self.over = true;
    }

    /// The phase at `now`.
    pub(crate) fn phase(&mut self, now: Moment) -> Phase {
        if now >= self.until() {
            self.over = true;
        }
        if self.over {
            Phase::Over
        } else if now >= self.risk_from() {
            Phase::AtRisk
        } else {
            Phase::Healthy
        }
    }

    /// When the phase changes next without another answer. `None` after the end.
    pub(crate) fn next_change(&mut self, now: Moment) -> Option<Moment> {
        match self.phase(now) {
            Phase::Healthy => Some(self.risk_from()),
            Phase::AtRisk => Some(self.until()),
            Phase::Over => None,
        }
    }

    /// The moment at which it ends without another answer.
    pub(crate) fn until(&self) -> Moment {
        self.disconnect_grace.map_or(self.expires, |grace| self.expires.min(deadline(grace, self.heard)))
    }

    /// The TTL of the last answer.
    pub(crate) fn ttl(&self) -> Duration {
        self.ttl
    }

    /// The disconnect grace of the last answer.
    pub(crate) fn disconnect_grace(&self) -> Option<Duration> {
        self.disconnect_grace
    }

    /// For how long a renewal is valid: the TTL, or the disconnect grace if there is one, which is never longer.
    pub(crate) fn window(&self) -> Duration {
        self.disconnect_grace.map_or(self.ttl, |grace| grace.min(self.ttl))
    }

    fn risk_from(&self) -> Moment {
        Moment(self.until().0.saturating_sub(self.window() / RISK_DIVISOR))
    }
}

/// The time between two renewals.
pub(crate) fn renewal_period(window: Duration) -> Duration {
    window / RENEWALS_PER_WINDOW
}

/// How long a renewal may stay unanswered before the stream counts as broken.
pub(crate) fn silence_limit(window: Duration) -> Duration {
    window / SILENCE_DIVISOR
}

fn deadline(window: Duration, sent: Moment) -> Moment {
    let margin = (window / MARGIN_DIVISOR).clamp(MARGIN_MIN, MARGIN_MAX);
    sent.after(window.saturating_sub(window / DRIFT_DIVISOR).saturating_sub(margin))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(milliseconds: u64) -> Moment {
        Moment(Duration::from_millis(milliseconds))
    }

    #[test]
    fn validity_counts_from_the_sending_and_not_from_the_reply() {
        let ttl = Duration::from_millis(1_200);
        let mut validity = Validity::new(ttl, None, at(0));
        assert_eq!(validity.until(), at(1_200 - 12 - 60));
        validity.renewed(ttl, at(400), at(700));
        assert_eq!(validity.until(), at(400 + 1_200 - 12 - 60));
    }

    #[test]
    fn validity_passes_through_its_phases() {
        let mut validity = Validity::new(Duration::from_millis(1_200), None, at(0));
        assert_eq!(validity.next_change(at(0)), Some(at(728)));
        assert_eq!(validity.phase(at(727)), Phase::Healthy);
        assert_eq!(validity.phase(at(728)), Phase::AtRisk);
        assert_eq!(validity.next_change(at(728)), Some(at(1_128)));
        assert_eq!(validity.phase(at(1_127)), Phase::AtRisk);
        assert_eq!(validity.phase(at(1_128)), Phase::Over);
        assert_eq!(validity.next_change(at(1_128)), None);
    }

    #[test]
    fn late_reply_revives_nothing() {
        let ttl = Duration::from_millis(1_200);
        let mut validity = Validity::new(ttl, None, at(0));
        // The process was paused: the renewal was sent in time, but its answer is read after the end.
        validity.renewed(ttl, at(1_000), at(1_130));
        assert_eq!(validity.phase(at(1_130)), Phase::Over);
        // Not even for a clock that is read late.
        assert_eq!(validity.phase(at(1_000)), Phase::Over);
    }

    #[test]
    fn failover_fits_into_the_ttl() {
        for milliseconds in [100, 500, 1_200, 10_000, 86_400_000] {
            let ttl = Duration::from_millis(milliseconds);
            let validity = Validity::new(ttl, None, at(0));
            // Answered at once, then silence: the next renewal is sent, and waited for.
            let noticed = renewal_period(ttl) + silence_limit(ttl);
            let left = validity.until().since(Moment(noticed));
            assert!(left >= ttl / 4, "{ttl:?}: {left:?}");
        }
    }

    #[test]
    fn validity_with_a_grace_ends_after_a_silence_of_the_grace() {
        let (ttl, grace) = (Duration::from_secs(10), Duration::from_millis(300));
        let mut validity = Validity::new(ttl, Some(grace), at(0));
        assert_eq!(validity.window(), grace);
        assert_eq!(validity.until(), at(300 - 3 - 15));
        validity.renewed(ttl, at(100), at(160));
        assert_eq!(validity.until(), at(100 + 282));
        assert_eq!(validity.phase(at(281)), Phase::Healthy);
        assert_eq!(validity.phase(at(282)), Phase::AtRisk);
        assert_eq!(validity.phase(at(382)), Phase::Over);
        validity.renewed(ttl, at(300), at(383));
        assert_eq!(validity.phase(at(383)), Phase::Over);
    }

    #[test]
    fn grace_of_a_new_stream_is_in_force_at_once() {
        let ttl = Duration::from_secs(10);
        let mut validity = Validity::new(ttl, None, at(0));
        validity.attached(ttl, Some(Duration::from_millis(1_000)), at(50), at(60));
        assert_eq!(validity.until(), at(50 + 1_000 - 10 - 50), "whatever the TTL promised before");
        validity.attached(ttl, None, at(100), at(110));
        assert_eq!(validity.until(), at(100 + 10_000 - 100 - 500));
    }

    /// A server that gives the session away as early as it may: when the TTL has passed on its clock, which runs as much
    /// faster as clocks may, since it *received* the last renewal, which was right after that was sent; or the grace since the
    /// stream broke, which was right after that.
    fn given_away(ttl: Duration, grace: Option<Duration>, sent: Moment) -> Moment {
        sent.after(grace.unwrap_or(ttl).min(ttl).mul_f64(1.0 / 1.01))
    }

    proptest! {
        /// Whatever arrives when: what is called valid has not been given away, and what is over stays over.
        #[test]
        fn validity_ends_before_the_server_may_end_the_session(
            ttl in 100_u64..20_000,
            grace in prop::option::of(100_u64..20_000),
            steps in prop::collection::vec((0_u64..8_000, 0_u64..8_000, any::<bool>()), 1..40),
        ) {
            let ttl = Duration::from_millis(ttl);
            let grace = grace.map(|grace| Duration::from_millis(grace).min(ttl));
            let mut validity = Validity::new(ttl, grace, at(0));
            let mut last_received = at(0);
            let mut now = at(0);
            let mut was_over = false;
            for (pause, travel, is_answered) in steps {
                let sent = now.after(Duration::from_millis(pause));
                now = sent.after(Duration::from_millis(travel));
                let server_has_it = sent < given_away(ttl, grace, last_received);
                if is_answered && server_has_it {
                    last_received = sent;
                    validity.renewed(ttl, sent, now);
                }
                let phase = validity.phase(now);
                if phase != Phase::Over {
                    prop_assert!(now < given_away(ttl, grace, last_received));
                    prop_assert!(!was_over);
                    prop_assert!(validity.until() < given_away(ttl, grace, last_received));
                    prop_assert!(validity.next_change(now).is_some_and(|change| change > now));
                }
                was_over = phase == Phase::Over;
            }
        }
    }
}
