//! The clock that all processes of a run share.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The time since boot, including time in suspend. Steps of the wall clock do not affect it.
#[must_use]
pub fn now() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default()
}
