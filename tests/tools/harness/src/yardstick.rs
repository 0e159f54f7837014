//! Measures how late this machine wakes threads while a test measures how late something happens.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The tolerance by which an event may be late on an idle machine.
const MARGIN: Duration = Duration::from_millis(50);

/// The additional tolerance for one of five events, which another program or a disk may delay.
const OUTLIER: Duration = Duration::from_secs(1);

/// How many threads have to be woken, one after the other, from the cause of an event to its record: those of a client, of two
/// servers and of the database, several times.
const WAKES: u32 = 10;

/// The interval at which the delay is measured.
const INTERVAL: Duration = Duration::from_millis(10);

/// The scheduling delay of this machine, measured until it is used.
pub struct Yardstick {
    ended: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Duration>>,
}

impl Yardstick {
    /// Starts to measure.
    #[must_use]
    pub fn start() -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn({
            let ended = Arc::clone(&ended);
            move || {
                let mut delays = Vec::new();
                while !ended.load(Ordering::Relaxed) {
                    let start = Instant::now();
                    thread::sleep(INTERVAL);
                    delays.push(start.elapsed().saturating_sub(INTERVAL));
                }
                delays
            }
        });
        Self { ended, thread }
    }

    /// Asserts that events due after `due` happened in time, as far as this machine allowed.
    ///
    /// # Panics
    /// If they did not.
    pub fn assert_in_time(self, times: &[Duration], due: Duration) {
        let (due, delay) = (due + MARGIN, self.delay());
        let limit = due + delay * WAKES;
        let late = times.iter().filter(|time| **time > limit).count();
        let longest = times.iter().max().copied().unwrap_or_default();
        assert!(
            late <= times.len().div_ceil(5) && longest <= limit + OUTLIER,
            "too late: {times:?}, due by {due:?} and {WAKES} times the scheduling delay of {delay:?}"
        );
    }

    /// The delay that nine of ten wakes did not exceed.
    fn delay(self) -> Duration {
        self.ended.store(true, Ordering::Relaxed);
        let mut delays = self.thread.join().expect("the measuring thread");
        delays.sort_unstable();
        delays.get(delays.len() * 9 / 10).copied().unwrap_or_default()
    }
}
