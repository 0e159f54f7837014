//! The health check of CMD: a user-supplied command that runs periodically beside it.

use std::convert::Infallible;
use std::io;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tenure_client::Progress;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Child;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use super::supervise::{Task, code, group_of};
use crate::output::{escape, exact, say};

/// The number of bytes kept from the end of a check's output; they are for one line of a message.
const OUTPUT_KEPT: usize = 300;
/// How long to wait for output after the check has ended: only a process that left its process group can hold it open.
const OUTPUT_TIMEOUT: Duration = Duration::from_millis(100);

/// The health check of CMD and its parameters.
#[derive(Debug, Clone)]
pub struct HealthCheck {
    /// The shell command. It exits with 0 if CMD is healthy.
    pub command: String,
    /// The time between the starts of two checks, and from CMD's start to the first.
    pub interval: Duration,
    /// A check that takes longer has failed.
    pub timeout: Duration,
    /// The number of consecutive failures after which CMD is unhealthy.
    pub retries: u32,
    /// Failures in this time after CMD's start do not count, unless a check has succeeded before.
    pub start_period: Duration,
    /// Where changes are published.
    pub health: watch::Sender<Health>,
    /// Stalled while CMD is unhealthy, which stops renewals.
    pub progress: Progress,
}

/// The known health of CMD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// CMD is healthy, as far as is known.
    Healthy,
    /// Enough consecutive checks have failed; with a readable reason.
    Unhealthy(String),
}

impl HealthCheck {
    /// Runs checks until dropped, which kills a running check. `run` is CMD's mark: killing the marked processes also
    /// kills a check.
    pub(super) async fn run(&self, task: &Task, run: &str) -> Infallible {
        let started = Instant::now();
        let mut counter = FailureCounter::default();
        let mut due = started + self.interval;
        loop {
            sleep_until(due).await;
            due = Instant::now() + self.interval;
            let failure = self.check(task, run).await.err();
            let health = counter.record(self, failure.as_deref(), started.elapsed());
            if let Some(why) = failure.filter(|_| (1..self.retries).contains(&counter.failures)) {
                say(&format!("tenure: health check failed, {} of {}: {why}", counter.failures, self.retries));
            }
            if let Some(health) = health {
                self.publish(health, &task.lock);
            }
        }
    }

    /// Publishes a change. The first reason for being unhealthy is kept until CMD is healthy again.
    fn publish(&self, health: Health, lock: &str) {
        self.health.send_if_modified(|known| {
            match (&*known, &health) {
                (Health::Healthy, Health::Unhealthy(why)) => {
                    self.progress.stall();
                    say(&format!("tenure: {lock} is not renewed any more: {why}"));
                }
                (Health::Unhealthy(_), Health::Healthy) => {
                    self.progress.tick();
                    say(&format!("tenure: healthy again; {lock} is renewed"));
                }
                _ => return false,
            }
            *known = health;
            true
        });
    }

    async fn check(&self, task: &Task, run: &str) -> Result<(), String> {
        let (mut child, mut output) = self.start(task, run).map_err(|error| format!("it cannot be run: {error}"))?;
        // Killed at the end of the check or when it is dropped, including processes that the check has left behind.
        let group = group_of(&child).map(Group);
        let mut kept = Vec::new();
        let ended = async {
            tokio::select! {
                status = child.wait() => status,
                () = keep_end(&mut output, &mut kept) => child.wait().await,
            }
        };
        let status = timeout(self.timeout, ended).await;
        drop(group);
        // The last output may arrive with the end of the check.
        let _ = timeout(OUTPUT_TIMEOUT, keep_end(&mut output, &mut kept)).await;
        let why = match status {
            Ok(Ok(status)) if status.success() => return Ok(()),
            Ok(Ok(status)) => format!("exit code {}", code(status)),
            Ok(Err(error)) => format!("it cannot be waited for: {error}"),
            Err(_) => format!("it took longer than {}", exact(self.timeout)),
        };
        Err(match last_line(&kept) {
            Some(line) => format!("{why}: {line}"),
            None => why,
        })
    }

    fn start(&self, task: &Task, run: &str) -> io::Result<(Child, Receiver)> {
        let (reader, writer) = io::pipe()?;
        let child = task
            // The last line of the output becomes a part of a message for people.
            .command(run, "table", ["sh", "-c", &self.command])
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .spawn()?;
        Ok((child, Receiver::from_owned_fd(OwnedFd::from(reader))?))
    }
}

/// A process group that is killed when this is dropped.
struct Group(Pid);

impl Drop for Group {
    fn drop(&mut self) {
        // An error means that no process is left to kill.
        let _ = kill_process_group(self.0, Signal::KILL);
    }
}

/// Reads all of the output, so that no writer blocks on a full pipe, and keeps the end. Cancel safe.
async fn keep_end(output: &mut Receiver, kept: &mut Vec<u8>) {
    let mut buffer = [0; 1024];
    while let Ok(count @ 1..) = output.read(&mut buffer).await {
        kept.extend_from_slice(&buffer[..count]);
        kept.drain(..kept.len().saturating_sub(OUTPUT_KEPT));
    }
}

fn last_line(output: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(output);
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(escape)
}

/// Counts consecutive failures. Pure: time is an argument.
#[derive(Debug, Default)]
struct FailureCounter {
    has_succeeded: bool,
    failures: u32,
}

impl FailureCounter {
    /// Records the result of a check that ended `since_start` after CMD's start. Returns the resulting health, if it is
    /// known yet.
    fn record(&mut self, check: &HealthCheck, failure: Option<&str>, since_start: Duration) -> Option<Health> {
        let Some(why) = failure else {
            *self = Self { has_succeeded: true, failures: 0 };
            return Some(Health::Healthy);
        };
        if !self.has_succeeded && since_start < check.start_period {
            return None;
        }
        self.failures = self.failures.saturating_add(1);
        let times = match self.failures {
            1 => String::new(),
            failures => format!(" {failures} times in a row"),
        };
        (self.failures >= check.retries).then(|| Health::Unhealthy(format!("the health check failed{times}: {why}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);
    const FAILED: Option<&str> = Some("exit code 1");

    fn check(retries: u32, start_period: Duration) -> HealthCheck {
        let health = watch::Sender::new(Health::Healthy);
        let progress = Progress::within(Duration::MAX);
        HealthCheck { command: String::new(), interval: S, timeout: S, retries, start_period, health, progress }
    }

    #[test]
    fn only_failures_in_a_row_count() {
        let (check, mut counter) = (check(2, Duration::ZERO), FailureCounter::default());
        let mut record = |failure, at| counter.record(&check, failure, at);
        assert_eq!(record(FAILED, S), None);
        assert_eq!(record(None, 2 * S), Some(Health::Healthy));
        assert_eq!(record(FAILED, 3 * S), None);
        let why = "the health check failed 2 times in a row: exit code 1";
        assert_eq!(record(FAILED, 4 * S), Some(Health::Unhealthy(why.to_owned())));
        assert_eq!(record(None, 5 * S), Some(Health::Healthy));
        assert_eq!(record(FAILED, 6 * S), None);
    }

    #[test]
    fn one_failure_may_be_enough() {
        let why = "the health check failed: exit code 1".to_owned();
        let health = FailureCounter::default().record(&check(1, Duration::ZERO), FAILED, S);
        assert_eq!(health, Some(Health::Unhealthy(why)));
    }

    #[test]
    fn failures_while_it_starts_do_not_count_until_it_has_started() {
        let check = check(1, 10 * S);
        let mut counter = FailureCounter::default();
        assert_eq!(counter.record(&check, FAILED, 9 * S), None);
        assert!(counter.record(&check, FAILED, 10 * S).is_some());
        let mut early = FailureCounter::default();
        assert_eq!(early.record(&check, None, S), Some(Health::Healthy));
        assert!(matches!(early.record(&check, FAILED, 2 * S), Some(Health::Unhealthy(_))));
    }

    #[test]
    fn the_last_line_is_reported_without_control_characters() {
        assert_eq!(last_line(b"first\nlast \x1b[2K\n\n").as_deref(), Some("last \\u{1b}[2K"));
        assert_eq!(last_line(b"\n"), None);
    }
}
