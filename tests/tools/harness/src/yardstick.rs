//! Measures how late this machine wakes threads, and how slowly it runs them, while a test measures how late something
//! happens.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The tolerance by which an event may be late on an idle machine: what it takes all programs to compute from its cause to
/// its record. Takes as many times longer as this machine runs them slower.
const MARGIN: Duration = Duration::from_millis(50);

/// The additional tolerance for one of five events, which another program or a disk may delay.
const OUTLIER: Duration = Duration::from_secs(1);

/// How many threads have to be woken, one after the other, from the cause of an event to its record: those of a client, of two
/// servers and of the database, several times.
const WAKES: u32 = 10;

/// The interval at which the delay is measured.
const INTERVAL: Duration = Duration::from_millis(10);

/// Once for so many delays it is measured how slowly threads run.
const DELAYS_PER_RUN: usize = 20;

/// For how long a thread computes to measure that: for longer than the scheduler lets it run at once.
const RUN: Duration = Duration::from_millis(10);

/// What this machine adds to the duration of events, measured until it is used.
pub struct Yardstick {
    ended: Arc<AtomicBool>,
    thread: JoinHandle<Measured>,
}

/// What was measured.
#[derive(Default)]
struct Measured {
    /// How late the thread was woken, each time.
    delays: Vec<Duration>,
    /// How long it took to run ...
    elapsed: Duration,
    /// ... for this long.
    run: Duration,
}

impl Yardstick {
    /// Starts to measure.
    #[must_use]
    pub fn start() -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn({
            let ended = Arc::clone(&ended);
            move || {
                let mut measured = Measured::default();
                while !ended.load(Ordering::Relaxed) {
                    measured.measure();
                }
                measured
            }
        });
        Self { ended, thread }
    }

    /// Asserts that events due after `due` happened in time, as far as this machine allowed.
    ///
    /// # Panics
    /// If they did not.
    pub fn assert_in_time(self, times: &[Duration], due: Duration) {
        self.ended.store(true, Ordering::Relaxed);
        let measured = self.thread.join().expect("the measuring thread");
        let (delay, slowdown) = (measured.delay(), measured.slowdown());
        let limit = due + MARGIN.mul_f64(slowdown) + delay * WAKES;
        let late = times.iter().filter(|time| **time > limit).count();
        let longest = times.iter().max().copied().unwrap_or_default();
        assert!(
            late <= times.len().div_ceil(5) && longest <= limit + OUTLIER,
            "too late: {times:?}, due by {due:?}, {MARGIN:?} on a machine that is {slowdown:.1} times slower, and {WAKES} \
             times the scheduling delay of {delay:?}"
        );
    }
}

impl Measured {
    fn measure(&mut self) {
        let start = Instant::now();
        thread::sleep(INTERVAL);
        self.delays.push(start.elapsed().saturating_sub(INTERVAL));
        if self.delays.len().is_multiple_of(DELAYS_PER_RUN) {
            let (start, began) = (Instant::now(), thread_time());
            while thread_time() - began < RUN {
                std::hint::spin_loop();
            }
            self.elapsed += start.elapsed();
            self.run += thread_time() - began;
        }
    }

    /// The delay that nine of ten wakes did not exceed.
    fn delay(&self) -> Duration {
        let mut delays = self.delays.clone();
        delays.sort_unstable();
        delays.get(delays.len() * 9 / 10).copied().unwrap_or_default()
    }

    /// How many times longer it takes to compute something than on an idle machine: at least 1.
    fn slowdown(&self) -> f64 {
        if self.run.is_zero() { 1.0 } else { self.elapsed.div_duration_f64(self.run).max(1.0) }
    }
}

/// For how long this thread has run.
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}
