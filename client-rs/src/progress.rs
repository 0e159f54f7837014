//! Progress: reported by a program, as a condition for the renewal of its sessions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::{self, Moment};
use crate::error::{Error, Result};

/// The progress of a program, as the program reports it: by a [`tick`](Self::tick) at each step of its work.
///
/// A session that is [renewed while](crate::SessionOptions::renew_while) there is progress ends like that of a program
/// that died, if the last tick is too long ago: it is no longer renewed, is at risk, and then lost, with
/// [`LostReason::Stalled`](crate::LostReason::Stalled), before the server grants its locks to others, which is within
/// the time between ticks and the TTL together. If the program ticks before that, renewal continues.
///
/// Clones share the same progress. A tick reads the clock and takes no lock, so any thread may call it, and a tight
/// loop, too.
///
/// ```no_run
/// # async fn example(client: tenure_client::Client) -> tenure_client::Result<()> {
/// use std::time::Duration;
/// use tenure_client::{Progress, SessionOptions};
///
/// let progress = Progress::within(Duration::from_secs(5));
/// let session = client.session(SessionOptions::new().renew_while(&progress)).await?;
/// std::thread::spawn(move || {
///     loop {
///         // ... one step of the work ...
///         progress.tick();
///     }
/// });
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Progress {
    within: Duration,
    /// When the program reported last, in nanoseconds, times two; and one more if it reported that it is stalled.
    reported: Arc<AtomicU64>,
}

impl Progress {
    /// Progress that requires a tick in each `within`, on a clock that runs while the machine is suspended. The first
    /// one is due this long after the session was opened.
    pub fn within(within: Duration) -> Self {
        Self::begun(within, clock::now())
    }

    /// Progress whose first tick was at `now`.
    pub(crate) fn begun(within: Duration, now: Moment) -> Self {
        let progress = Self { within, reported: Arc::default() };
        progress.tick_at(now);
        progress
    }

    /// Reports progress.
    pub fn tick(&self) {
        self.tick_at(clock::now());
    }

    pub(crate) fn tick_at(&self, now: Moment) {
        self.report(now, false);
    }

    /// Reports a stall: the program counts as stalled from now to the next tick.
    pub fn stall(&self) {
        self.report(clock::now(), true);
    }

    /// Whether the last tick is too long ago, or the program reported a stall.
    pub fn is_stalled(&self) -> bool {
        self.is_stalled_at(Moment::default(), clock::now())
    }

    /// Whether it is stalled at `now`, for something that began at `since`: earlier reports are ignored.
    pub(crate) fn is_stalled_at(&self, since: Moment, now: Moment) -> bool {
        let reported = self.reported.load(Ordering::Relaxed);
        let at = Moment(Duration::from_nanos(reported >> 1));
        let says_so = reported & 1 == 1 && at >= since;
        says_so || now.since(at.max(since)) >= self.within
    }

    /// Checks that progress is possible at all.
    pub(crate) fn check(&self) -> Result<()> {
        if self.within.is_zero() {
            let problem = "no progress can be made within no time: it is to be more than zero";
            return Err(Error::invalid("renew_while", problem));
        }
        Ok(())
    }

    fn report(&self, now: Moment, is_stalled: bool) {
        // Two hundred years after the machine's start all ticks are the same.
        let nanoseconds = u64::try_from(now.0.as_nanos()).unwrap_or(u64::MAX).min(u64::MAX >> 1);
        self.reported.store(nanoseconds << 1 | u64::from(is_stalled), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WITHIN: Duration = Duration::from_secs(5);

    fn at(milliseconds: u64) -> Moment {
        Moment(Duration::from_millis(milliseconds))
    }

    #[test]
    fn tick_counts_for_its_interval() {
        let progress = Progress::begun(WITHIN, at(1_000));
        assert!(!progress.is_stalled_at(at(0), at(5_999)));
        assert!(progress.is_stalled_at(at(0), at(6_000)));
        progress.tick_at(at(7_000));
        assert!(!progress.is_stalled_at(at(0), at(11_999)));
        assert!(progress.is_stalled_at(at(0), at(12_000)));
    }

    #[test]
    fn first_tick_is_due_one_interval_after_the_opening() {
        let progress = Progress::begun(WITHIN, at(0));
        assert!(!progress.is_stalled_at(at(60_000), at(64_999)));
        assert!(progress.is_stalled_at(at(60_000), at(65_000)));
    }

    #[test]
    fn reported_stall_lasts_until_the_next_tick() {
        let progress = Progress::begun(Duration::MAX, at(0));
        progress.report(at(1_000), true);
        assert!(progress.is_stalled_at(at(0), at(1_000)));
        assert!(progress.is_stalled_at(at(0), at(100_000)));
        assert!(!progress.is_stalled_at(at(2_000), at(100_000)), "what was said of an earlier session is over");
        progress.tick_at(at(100_000));
        assert!(!progress.is_stalled_at(at(0), at(100_000)));
    }

    #[test]
    fn handles_use_the_clock() {
        let progress = Progress::within(WITHIN);
        assert!(!progress.is_stalled());
        progress.stall();
        assert!(progress.is_stalled());
        progress.tick();
        assert!(!progress.is_stalled());
    }

    #[test]
    fn interval_of_zero_is_rejected() {
        let refused = Progress::within(Duration::ZERO).check();
        assert!(matches!(refused, Err(Error::Invalid { field: "renew_while", .. })), "{refused:?}");
    }
}
