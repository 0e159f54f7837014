//! Measures the delay that the machine adds to every operation: other programs use its processors and its disk, too.

use std::fs::{self, File};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::times::Times;

/// The sampling interval.
const EVERY: Duration = Duration::from_millis(10);

/// Measures how late a thread wakes up, and how long a small synchronous write takes.
pub(crate) struct Machine {
    times: Times,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Machine {
    pub(crate) fn start() -> Self {
        let (times, is_over) = (Times::default(), Arc::new(AtomicBool::new(false)));
        let (samples, ends) = (times.clone(), is_over.clone());
        let thread = std::thread::spawn(move || {
            let path = std::env::temp_dir().join(format!("tenure-abuse-{}-{:p}", std::process::id(), &samples));
            let mut file = File::create(&path).ok();
            // The file exists as long as it is open.
            let _ = fs::remove_file(path);
            while !ends.load(Ordering::Relaxed) {
                let due = Instant::now() + EVERY;
                std::thread::sleep(EVERY);
                if let Some(file) = &mut file {
                    // A failed write adds no measurable delay.
                    let _ = file.write_all(b"tenure").and_then(|()| file.sync_data());
                }
                samples.add(due);
            }
        });
        Self { times, is_over, thread: Some(thread) }
    }

    /// The delays since then.
    pub(crate) fn delays(&self, since: Instant) -> Vec<Duration> {
        self.times.since(since)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The thread cannot have panicked.
            let _ = thread.join();
        }
    }
}
