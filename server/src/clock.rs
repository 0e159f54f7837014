//! The two clocks of a server.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// The clock that decides: monotonic, running while the machine is suspended, since an arbitrary start.
///
/// `std::time::Instant` will not do: on Linux it stands still in suspend, so a server that slept through its lease would
/// believe that it still has it. Elsewhere this is the system's monotonic clock, which runs in suspend on the
/// BSDs' and Apple's systems.
#[must_use]
pub fn now() -> Duration {
    #[cfg(target_os = "linux")]
    const CLOCK: ClockId = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    const CLOCK: ClockId = ClockId::Monotonic;
    // A monotonic clock is never negative; the conversion's zero would only ever be its start.
    Duration::try_from(clock_gettime(CLOCK)).unwrap_or_default()
}

/// The wall clock in ms since 1970, to stamp history for people. It decides nothing.
#[must_use]
pub fn wall_ms() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_goes_back_and_does_go_on() {
        let start = now();
        let mut last = start;
        while last - start < Duration::from_millis(1) {
            let next = now();
            assert!(next >= last);
            last = next;
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn counts_suspended_time() {
        // What /proc/uptime shows is the time since boot, suspended time included.
        let uptime = std::fs::read_to_string("/proc/uptime").unwrap();
        let uptime: f64 = uptime.split_whitespace().next().unwrap().parse().unwrap();
        assert!((now().as_secs_f64() - uptime).abs() < 1.0);
    }
}
