//! CMD as the kernel sees it: its process group, the processes that left the group, and the clock that runs in suspend.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use rustix::time::{ClockId, clock_gettime};

/// The variable that marks CMD and its descendants, including those that leave its process group.
pub const RUN_VARIABLE: &str = "TENURE_RUN";

/// How many times killing is repeated while new processes appear.
const ROUNDS: usize = 200;
/// How long the kernel may take to carry out one round.
const ROUND: Duration = Duration::from_millis(5);

/// The time since boot, including suspend: the same for all processes.
pub fn since_boot() -> Duration {
    #[cfg(target_os = "linux")]
    let now = clock_gettime(ClockId::Boottime);
    // On macOS the monotonic clock runs during suspend.
    #[cfg(not(target_os = "linux"))]
    let now = clock_gettime(ClockId::Monotonic);
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// CMD and its descendants.
#[derive(Debug, Clone)]
pub struct Tree {
    group: Pid,
    run: String,
}

impl Tree {
    /// The processes of `group`, and those that have `run` in their environment.
    pub fn new(group: Pid, run: String) -> Self {
        Self { group, run }
    }

    /// The process group.
    pub fn group(&self) -> Pid {
        self.group
    }

    /// The value of [`RUN_VARIABLE`].
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Sends a signal to the process group.
    pub fn signal_group(&self, signal: Signal) {
        // An error means that no process is left to receive it.
        let _ = kill_process_group(self.group, signal);
    }

    /// Sends SIGTERM to all of them, and SIGCONT to the group, so that stopped processes receive it.
    pub fn terminate(&self) {
        self.signal_group(Signal::TERM);
        self.signal_group(Signal::CONT);
        for pid in self.outside() {
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    /// Kills all of them, and returns when the marked ones are gone, with whether they are known to be gone.
    pub fn kill(&self) -> bool {
        for _ in 0..ROUNDS {
            self.signal_group(Signal::KILL);
            let left = self.marked();
            if left.is_empty() {
                return cfg!(target_os = "linux");
            }
            for pid in left {
                let _ = kill_process(pid, Signal::KILL);
            }
            std::thread::sleep(ROUND);
        }
        false
    }

    /// The marked processes outside the group.
    fn outside(&self) -> Vec<Pid> {
        let left = |pid: &Pid| rustix::process::getpgid(Some(*pid)).is_ok_and(|group| group != self.group);
        self.marked().into_iter().filter(left).collect()
    }

    /// The live processes with our mark in their environment, as far as the system lets us see them.
    fn marked(&self) -> Vec<Pid> {
        let mark = format!("{RUN_VARIABLE}={}", self.run);
        let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
        processes
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw))
            .filter(|pid| {
                std::fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero()))
                    .is_ok_and(|environment| environment.split(|byte| *byte == 0).any(|line| line == mark.as_bytes()))
            })
            .collect()
    }
}
