//! CMD as the kernel sees it: its process group, the processes that left the group, and the clock that runs in suspend.

use std::time::Duration;

use rustix::process::{Pid, Signal, getpgid, kill_process, kill_process_group};
use rustix::time::{ClockId, clock_gettime};

/// The variable that marks CMD and its descendants, including those that leave its process group.
pub const RUN_VARIABLE: &str = "TENURE_RUN";

/// The maximum sleep: timers stop during suspend, so the clock is read again.
pub const MAX_SLEEP: Duration = Duration::from_millis(250);

/// How many times killing is repeated while new processes appear.
const ROUNDS: usize = 200;
/// How long the kernel may take to carry out one round.
const ROUND: Duration = Duration::from_millis(5);

/// The time since boot, including suspend: the same for all processes.
pub fn since_boot() -> Duration {
    #[cfg(target_os = "linux")]
    let clock = ClockId::Boottime;
    // On macOS the monotonic clock runs during suspend.
    #[cfg(not(target_os = "linux"))]
    let clock = ClockId::Monotonic;
    clock_gettime(clock).try_into().unwrap_or_default()
}

/// CMD and its descendants: the processes of `group`, and those with `run` in their environment.
#[derive(Debug, Clone)]
pub struct Tree {
    /// The process group.
    pub group: Pid,
    /// The value of [`RUN_VARIABLE`].
    pub run: String,
}

impl Tree {
    /// Sends a signal to the process group.
    pub fn signal_group(&self, signal: Signal) {
        // An error means that no process is left to receive it.
        let _ = kill_process_group(self.group, signal);
    }

    /// Sends SIGTERM to all processes, and SIGCONT to the group, so that stopped processes receive it.
    pub fn terminate(&self) {
        self.signal_group(Signal::TERM);
        self.signal_group(Signal::CONT);
        for pid in self.marked() {
            // The group has received it already.
            if getpgid(Some(pid)).is_ok_and(|group| group != self.group) {
                let _ = kill_process(pid, Signal::TERM);
            }
        }
    }

    /// Kills all processes, and returns when the marked ones have ended, with whether that is certain.
    pub fn kill(&self) -> bool {
        for _ in 0..ROUNDS {
            self.signal_group(Signal::KILL);
            let alive = self.marked();
            if alive.is_empty() {
                return cfg!(target_os = "linux");
            }
            for pid in alive {
                let _ = kill_process(pid, Signal::KILL);
            }
            std::thread::sleep(ROUND);
        }
        false
    }

    /// The live processes with this run's mark in their environment, as far as their environment is readable.
    fn marked(&self) -> Vec<Pid> {
        let mark = format!("{RUN_VARIABLE}={}", self.run);
        let is_marked = |pid: &Pid| {
            std::fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero()))
                .is_ok_and(|environment| environment.split(|byte| *byte == 0).any(|line| line == mark.as_bytes()))
        };
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = processes.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
        pids.filter(is_marked).collect()
    }
}
