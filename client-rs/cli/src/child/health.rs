//! The health check of CMD: a user-supplied command that runs periodically beside it.

use std::cell::RefCell;
use std::convert::Infallible;
use std::io;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use super::process::RUN_VARIABLE;
use super::supervise::{Task, code};
use crate::output::{exact, plain, say};

/// The number of bytes kept from the end of a check's output; they are for one line of a message.
const OUTPUT_KEPT: usize = 300;
/// How long to wait for output after the check has ended: only a process that left its process group can hold it open.
const LAST_WORDS: Duration = Duration::from_millis(100);

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
    pub(super) async fn watch(&self, task: &Task, run: &str) -> Infallible {
        let started = Instant::now();
        let mut tally = Tally::new(self.retries, self.start_period);
        let mut due = started + self.interval;
        loop {
            sleep_until(due).await;
            due = Instant::now() + self.interval;
            let checked = self.check(task, run).await;
            let failed = checked.as_ref().err().cloned();
            let health = tally.take(checked, started.elapsed());
            if let Some(why) = failed.filter(|_| (1..self.retries).contains(&tally.failures)) {
                say(&format!("tenure: health check failed, {} of {}: {why}", tally.failures, self.retries));
            }
            if let Some(health) = health {
                self.tell(health, &task.lock);
            }
        }
    }

    /// Publishes a change. The first reason for being unhealthy is kept until CMD is healthy again.
    fn tell(&self, health: Health, lock: &str) {
        self.health.send_if_modified(|known| {
            let is_news = std::mem::discriminant(known) != std::mem::discriminant(&health);
            if is_news {
                match &health {
                    Health::Unhealthy(why) => say(&format!("tenure: {lock} is not renewed any more: {why}")),
                    Health::Healthy => say(&format!("tenure: healthy again; {lock} is renewed")),
                }
                *known = health;
            }
            is_news
        });
    }

    async fn check(&self, task: &Task, run: &str) -> Result<(), String> {
        let (mut child, mut output) = self.start(task, run).map_err(|error| format!("it cannot be run: {error}"))?;
        // Killed at the end of this function or when it is dropped, including processes that the check has left behind.
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw).map(Group);
        let kept = RefCell::new(Vec::new());
        let status = {
            let mut reading = std::pin::pin!(keep_end(&mut output, &kept));
            let ended = async {
                tokio::select! {
                    status = child.wait() => status,
                    () = &mut reading => child.wait().await,
                }
            };
            let status = timeout(self.timeout, ended).await;
            drop(group);
            status
        };
        // The last output may arrive with the end of the check.
        let _ = timeout(LAST_WORDS, keep_end(&mut output, &kept)).await;
        let why = match status {
            Ok(Ok(status)) if status.success() => return Ok(()),
            Ok(Ok(status)) => format!("exit code {}", code(status)),
            Ok(Err(error)) => format!("it cannot be waited for: {error}"),
            Err(_) => format!("it took longer than {}", exact(self.timeout)),
        };
        Err(match last_line(&kept.borrow()) {
            Some(line) => format!("{why}: {line}"),
            None => why,
        })
    }

    fn start(&self, task: &Task, run: &str) -> io::Result<(Child, Receiver)> {
        let (reader, writer) = io::pipe()?;
        let child = Command::new(&task.own_program)
            .arg0("tenure")
            .args(["__exec", "--parent", &std::process::id().to_string(), "--", "sh", "-c", &self.command])
            .envs(task.environment.iter().map(|(name, value)| (name, value)))
            .env(RUN_VARIABLE, run)
            .process_group(0)
            .kill_on_drop(true)
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

/// Reads all of the output, so that no writer blocks on a full pipe, and keeps the end.
async fn keep_end(output: &mut Receiver, kept: &RefCell<Vec<u8>>) {
    let mut buffer = [0; 1024];
    while let Ok(count @ 1..) = output.read(&mut buffer).await {
        let mut kept = kept.borrow_mut();
        kept.extend_from_slice(&buffer[..count]);
        let surplus = kept.len().saturating_sub(OUTPUT_KEPT);
        kept.drain(..surplus);
    }
}

fn last_line(output: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(output);
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(plain)
}

/// Counts consecutive failures. Pure: time is an argument.
#[derive(Debug)]
struct Tally {
    retries: u32,
    start_period: Duration,
    has_succeeded: bool,
    failures: u32,
}

impl Tally {
    fn new(retries: u32, start_period: Duration) -> Self {
        Self { retries, start_period, has_succeeded: false, failures: 0 }
    }

    /// Records the result of a check that ended `since_start` after CMD's start. Returns the health that follows, if
    /// any does yet.
    fn take(&mut self, checked: Result<(), String>, since_start: Duration) -> Option<Health> {
        match checked {
            Ok(()) => {
                self.has_succeeded = true;
                self.failures = 0;
                Some(Health::Healthy)
            }
            Err(_) if !self.has_succeeded && since_start < self.start_period => None,
            Err(why) => {
                self.failures = self.failures.saturating_add(1);
                let is_enough = self.failures >= self.retries;
                is_enough.then(|| Health::Unhealthy(self.describe(&why)))
            }
        }
    }

    fn describe(&self, why: &str) -> String {
        match self.failures {
            1 => format!("the health check failed: {why}"),
            failures => format!("the health check failed {failures} times in a row: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    fn failed() -> Result<(), String> {
        Err("exit code 1".to_owned())
    }

    #[test]
    fn only_failures_in_a_row_count() {
        let mut tally = Tally::new(2, Duration::ZERO);
        assert_eq!(tally.take(failed(), S), None);
        assert_eq!(tally.take(Ok(()), 2 * S), Some(Health::Healthy));
        assert_eq!(tally.take(failed(), 3 * S), None);
        let why = "the health check failed 2 times in a row: exit code 1";
        assert_eq!(tally.take(failed(), 4 * S), Some(Health::Unhealthy(why.to_owned())));
        assert_eq!(tally.take(Ok(()), 5 * S), Some(Health::Healthy));
        assert_eq!(tally.take(failed(), 6 * S), None);
    }

    #[test]
    fn one_failure_may_be_enough() {
        let why = "the health check failed: exit code 1".to_owned();
        assert_eq!(Tally::new(1, Duration::ZERO).take(failed(), S), Some(Health::Unhealthy(why)));
    }

    #[test]
    fn failures_while_it_starts_do_not_count_until_it_has_started() {
        let mut tally = Tally::new(1, 10 * S);
        assert_eq!(tally.take(failed(), 9 * S), None);
        assert!(tally.take(failed(), 10 * S).is_some());
        let mut early = Tally::new(1, 10 * S);
        assert_eq!(early.take(Ok(()), S), Some(Health::Healthy));
        assert!(matches!(early.take(failed(), 2 * S), Some(Health::Unhealthy(_))));
    }

    #[test]
    fn the_last_line_is_told_without_control_characters() {
        assert_eq!(last_line(b"first\nlast \x1b[2K\n\n").as_deref(), Some("last \\u{1b}[2K"));
        assert_eq!(last_line(b"\n"), None);
    }
}
