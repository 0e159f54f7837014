//! The clock that measures durations.

use std::time::Duration;

/// A clock that never steps. Only differences between its readings are meaningful.
pub trait Clock: Send + Sync + 'static {
    /// The time since an arbitrary fixed moment.
    fn now(&self) -> Duration;
}

/// The monotonic clock that includes suspend (CLOCK_BOOTTIME): a lease must not outlive a suspended laptop or a
/// migrated virtual machine. On platforms without it, the ordinary monotonic clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct BootClock;

impl Clock for BootClock {
    fn now(&self) -> Duration {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let clock = rustix::time::ClockId::Boottime;
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let clock = rustix::time::ClockId::Monotonic;
        let now = rustix::time::clock_gettime(clock);
        Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or_default())
    }
}
