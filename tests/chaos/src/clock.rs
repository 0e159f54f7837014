//! The clock that all processes of a run share.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The time since this machine was started, time in suspend included. No step of a wall clock moves it.
#[must_use]
pub fn now() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default()
}
