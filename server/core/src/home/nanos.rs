//! Compact moments and durations, for the state of each session.

use std::num::NonZero;
use std::ops::{Add, Div, Sub};
use std::time::Duration;

/// A moment or a duration in nanoseconds, stored plus one, so that an `Option` of it takes no extra space. The maximum
/// is over 500 years; sums and differences saturate there, and at zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Nanos(NonZero<u64>);

impl Nanos {
    fn new(nanos: u64) -> Self {
        Self(NonZero::<u64>::MIN.saturating_add(nanos))
    }

    fn get(self) -> u64 {
        self.0.get() - 1
    }
}

impl Default for Nanos {
    fn default() -> Self {
        Self::new(0)
    }
}

impl From<Duration> for Nanos {
    fn from(duration: Duration) -> Self {
        Self::new(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for Duration {
    fn from(nanos: Nanos) -> Self {
        Self::from_nanos(nanos.get())
    }
}

impl Add for Nanos {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.get()))
    }
}

impl Sub for Nanos {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self::new(self.get().saturating_sub(other.get()))
    }
}

impl Div<u64> for Nanos {
    type Output = Self;

    fn div(self, by: u64) -> Self {
        Self::new(self.get() / by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanos_calculate_like_durations_and_saturate() {
        let (one, two) = (Duration::from_nanos(1), Duration::from_secs(2));
        let back = |nanos: Nanos| Duration::from(nanos);
        assert_eq!(back(Nanos::from(two) + one.into()), two + one);
        assert_eq!(back(Nanos::from(two) - one.into()), two - one);
        assert_eq!(back(Nanos::from(one) - two.into()), Duration::ZERO);
        assert_eq!(back(Nanos::from(two) / 8), two / 8);
        let most = Nanos::from(Duration::MAX);
        assert_eq!(most + two.into(), most);
        assert!(Nanos::default() < one.into() && Nanos::from(one) < two.into() && Nanos::from(two) < most);
        assert_eq!(size_of::<Option<Nanos>>(), size_of::<u64>());
    }
}
