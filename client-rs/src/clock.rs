//! The clock of validity: it runs while the machine is suspended.

use std::time::Duration;

/// A moment, as the time since the machine started. Only differences have a meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(pub(crate) Duration);

impl Moment {
    /// The moment this long after. Saturates.
    pub(crate) fn after(self, while_: Duration) -> Self {
        Self(self.0.saturating_add(while_))
    }

    /// The time from `earlier` to this moment; zero if it is not earlier.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// Now. `Instant` stops in suspend, and a process suspended for its TTL would consider itself valid.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn now() -> Moment {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or(0);
    Moment(Duration::new(seconds, nanoseconds))
}

/// Now, on a system without CLOCK_BOOTTIME: since the first call.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn now() -> Moment {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    Moment(START.get_or_init(Instant::now).elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_saturate() {
        let early = Moment(Duration::from_secs(1));
        let late = Moment(Duration::from_secs(3));
        assert_eq!(late.since(early), Duration::from_secs(2));
        assert_eq!(early.since(late), Duration::ZERO);
        assert_eq!(late.after(Duration::MAX), Moment(Duration::MAX));
    }

    #[test]
    fn the_clock_does_not_run_backwards() {
        let before = now();
        assert!(now() >= before);
    }
}
