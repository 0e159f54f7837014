//! How long a session may be believed in: pure arithmetic, with the time passed in.

use std::time::Duration;

use crate::clock::Moment;

/// By how much the clocks of this machine and of the server may differ in rate: one part in a hundred.
const DRIFT_DIVISOR: u32 = 100;
/// What is taken off besides, so that the program is told before the deadline and not at it: a twentieth of the TTL ...
const MARGIN_DIVISOR: u32 = 20;
/// ... but at least this (timers are not sharper than a few milliseconds) ...
const MARGIN_MIN: Duration = Duration::from_millis(10);
/// ... and at most this.
const MARGIN_MAX: Duration = Duration::from_millis(500);
/// A session is at risk when this part of its TTL is left: one renewal was missed.
const RISK_DIVISOR: u32 = 3;
/// Renewals are this many to a TTL.
const RENEWALS_PER_TTL: u32 = 3;
/// How long an answer to a renewal may take before the stream counts as broken, as a part of the TTL. Together with the
/// time between renewals it leaves 5/12 of the TTL to attach elsewhere.
const SILENCE_DIVISOR: u32 = 4;

/// How far along its validity a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Renewed lately.
    Healthy,
    /// Valid, but a renewal is overdue.
    AtRisk,
    /// The server may give its locks away. Never left again.
    Over,
}

/// The validity of one session. Once over it stays over: a late answer revives nothing.
#[derive(Clone, Debug)]
pub(crate) struct Validity {
    ttl: Duration,
    until: Moment,
    over: bool,
}

impl Validity {
    /// Of a session that was opened by a command sent at `sent`.
    pub(crate) fn new(ttl: Duration, sent: Moment) -> Self {
        Self { ttl, until: deadline(ttl, sent), over: false }
    }

    /// A renewal that was sent at `sent` was answered with `ttl`. Nothing comes of it if that is too late.
    pub(crate) fn renewed(&mut self, ttl: Duration, sent: Moment, now: Moment) {
        if self.phase(now) == Phase::Over {
            return;
        }
        self.ttl = ttl;
        // Answers may overtake each other; the one that was asked for last tells most.
        self.until = self.until.max(deadline(ttl, sent));
        self.phase(now);
    }

    /// Ends it, for another reason than the time.
    pub(crate) fn end(&mut self) {
        self.over = true;
    }

    /// Where it stands at `now`.
    pub(crate) fn phase(&mut self, now: Moment) -> Phase {
        if now >= self.until {
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

    /// When the phase changes next if nothing is heard. None if it is over.
    pub(crate) fn next_change(&mut self, now: Moment) -> Option<Moment> {
        match self.phase(now) {
            Phase::Healthy => Some(self.risk_from()),
            Phase::AtRisk => Some(self.until),
            Phase::Over => None,
        }
    }

    /// The moment at which it is over if nothing is heard.
    pub(crate) fn until(&self) -> Moment {
        self.until
    }

    /// The TTL that the server answered last.
    pub(crate) fn ttl(&self) -> Duration {
        self.ttl
    }

    fn risk_from(&self) -> Moment {
        Moment(self.until.0.saturating_sub(self.ttl / RISK_DIVISOR))
    }
}

/// The time between two renewals.
pub(crate) fn renewal_period(ttl: Duration) -> Duration {
    ttl / RENEWALS_PER_TTL
}

/// How long a renewal may stay unanswered before the stream counts as broken.
pub(crate) fn silence_limit(ttl: Duration) -> Duration {
    ttl / SILENCE_DIVISOR
}

fn deadline(ttl: Duration, sent: Moment) -> Moment {
    let margin = (ttl / MARGIN_DIVISOR).clamp(MARGIN_MIN, MARGIN_MAX);
    sent.after(ttl.saturating_sub(ttl / DRIFT_DIVISOR).saturating_sub(margin))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(milliseconds: u64) -> Moment {
        Moment(Duration::from_millis(milliseconds))
    }

    #[test]
    fn it_counts_from_the_sending_and_not_from_the_answer() {
        let ttl = Duration::from_millis(1_200);
        let mut validity = Validity::new(ttl, at(0));
        assert_eq!(validity.until(), at(1_200 - 12 - 60));
        validity.renewed(ttl, at(400), at(700));
        assert_eq!(validity.until(), at(400 + 1_200 - 12 - 60));
    }

    #[test]
    fn it_goes_through_its_phases() {
        let mut validity = Validity::new(Duration::from_millis(1_200), at(0));
        assert_eq!(validity.next_change(at(0)), Some(at(728)));
        assert_eq!(validity.phase(at(727)), Phase::Healthy);
        assert_eq!(validity.phase(at(728)), Phase::AtRisk);
        assert_eq!(validity.next_change(at(728)), Some(at(1_128)));
        assert_eq!(validity.phase(at(1_127)), Phase::AtRisk);
        assert_eq!(validity.phase(at(1_128)), Phase::Over);
        assert_eq!(validity.next_change(at(1_128)), None);
    }

    #[test]
    fn a_late_answer_revives_nothing() {
        let ttl = Duration::from_millis(1_200);
        let mut validity = Validity::new(ttl, at(0));
        // The process was paused: the renewal was sent in time, but its answer is read after the end.
        validity.renewed(ttl, at(1_000), at(1_130));
        assert_eq!(validity.phase(at(1_130)), Phase::Over);
        // Not even for a clock that is read late.
        assert_eq!(validity.phase(at(1_000)), Phase::Over);
    }

    #[test]
    fn a_failover_fits_into_the_ttl() {
        for milliseconds in [100, 500, 1_200, 10_000, 86_400_000] {
            let ttl = Duration::from_millis(milliseconds);
            let validity = Validity::new(ttl, at(0));
            // Answered at once, then silence: the next renewal is sent, and waited for.
            let noticed = renewal_period(ttl) + silence_limit(ttl);
            let left = validity.until().since(Moment(noticed));
            assert!(left >= ttl / 4, "{ttl:?}: {left:?}");
        }
    }

    /// A server that gives the session away as early as it may: when the TTL has passed on its clock, which runs as much
    /// faster as clocks may, since it *received* the last renewal, which was right after that was sent.
    fn given_away(ttl: Duration, sent: Moment) -> Moment {
        sent.after(ttl.mul_f64(1.0 / 1.01))
    }

    proptest! {
        /// Whatever arrives when: what is called valid has not been given away, and what is over stays over.
        #[test]
        fn it_is_never_valid_after_the_server_may_have_given_it_away(
            ttl in 100_u64..20_000,
            steps in prop::collection::vec((0_u64..8_000, 0_u64..8_000, any::<bool>()), 1..40),
        ) {
            let ttl = Duration::from_millis(ttl);
            let mut validity = Validity::new(ttl, at(0));
            let mut last_received = at(0);
            let mut now = at(0);
            let mut was_over = false;
            for (pause, travel, is_answered) in steps {
                let sent = now.after(Duration::from_millis(pause));
                now = sent.after(Duration::from_millis(travel));
                let server_has_it = sent < given_away(ttl, last_received);
                if is_answered && server_has_it {
                    last_received = sent;
                    validity.renewed(ttl, sent, now);
                }
                let phase = validity.phase(now);
                if phase != Phase::Over {
                    prop_assert!(now < given_away(ttl, last_received));
                    prop_assert!(!was_over);
                    prop_assert!(validity.until() < given_away(ttl, last_received));
                    prop_assert!(validity.next_change(now).is_some_and(|change| change > now));
                }
                was_over = phase == Phase::Over;
            }
        }
    }
}
