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
