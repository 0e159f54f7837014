//! Supervises CMD from its start to its end.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::Pid;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};
use tokio::signal::unix::{self, SignalKind};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::health::{Health, HealthCheck};
use super::process::{MAX_SLEEP, RUN_VARIABLE, Tree, since_boot};
use super::schedule::{Action, Schedule};
use super::signals::Signals;
use super::terminal::Terminal;
use crate::args::Global;
use crate::exit::{self, Failure};
use crate::output::say;

/// How long the guard may take to read a line before it counts as broken.
const GUARD_TIMEOUT: Duration = Duration::from_millis(200);
/// How long a killed command may take to exit.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// The command to run, and its constraints.
#[derive(Debug, Clone)]
pub struct Task {
    /// The executable of `tenure` itself, which runs the helper processes.
    pub own_program: PathBuf,
    /// CMD and its arguments.
    pub command: Vec<OsString>,
    /// The variables added to its environment.
    pub environment: Vec<(String, String)>,
    /// Whether a failure to run CMD is reported as JSON.
    pub as_json: bool,
    /// The lock, for messages.
    pub lock: String,
    /// The session that the guard closes if this process is killed, with the options of that call. None: nothing is
    /// closed, and the session ends by its TTL.
    pub session: Option<(String, Global)>,
    /// When to stop CMD.
    pub schedule: Schedule,
    /// How to check the health of CMD. None: CMD counts as healthy while it runs.
    pub health: Option<HealthCheck>,
}

/// The reason for the loss of a hold that was not ended explicitly.
const NOT_RENEWED: &str = "it could not be renewed in time";

/// The known validity of the hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Validity {
    /// No other session is granted the lock before this time since boot.
    Until(Duration),
    /// As `Until`, and the hold is to be handed over: CMD is stopped, and should have ended by a time since boot.
    HandOver {
        /// No other session is granted the lock before this time.
        until: Duration,
        /// When CMD should have ended.
        stop_by: Duration,
    },
    /// The hold has ended; with a readable reason.
    Lost(String),
}

/// How the run of CMD ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// CMD ended by itself: its exit code, or 128 and the signal.
    Ended(u8),
    /// The hold was lost, and CMD was stopped; with a readable reason.
    Lost(String),
    /// CMD was stopped to hand the hold over.
    Stopped,
}

/// Runs CMD while `validity` lasts, and passes `signals` on to it.
///
/// # Errors
/// CMD cannot be started, or cannot be killed.
pub async fn supervise(
    task: &Task,
    mut validity: watch::Receiver<Validity>,
    signals: &mut Signals,
) -> Result<Outcome, Failure> {
    let mut children = unix::signal(SignalKind::child()).map_err(cannot_run)?;
    let mut running = Running::start(task)?;
    let known = validity.borrow_and_update().clone();
    running.apply(known).await;
    let run = running.tree.run.clone();
    let mut checks = std::pin::pin!(async {
        match &task.health {
            Some(check) => check.run(task, &run).await,
            None => std::future::pending().await,
        }
    });
    loop {
        let pause = running.stop_if_due().await;
        tokio::select! {
            status = running.child.wait() => return Ok(running.finish(status.map_err(cannot_run)?).await),
            Ok(()) = validity.changed() => {
                let known = validity.borrow_and_update().clone();
                running.apply(known).await;
            }
            // A command that was sent SIGTERM need not be healthy.
            never = &mut checks, if !running.termed => match never {},
            signal = signals.next() => running.tree.signal_group(signal),
            _ = children.recv() => {
                if let Some(terminal) = &mut running.terminal {
                    let left = running.end.saturating_sub(since_boot()).as_secs();
                    terminal.on_stop(&running.tree, || {
                        format!("\ntenure: {} expires in {left} s unless continued; the command is then killed", task.lock)
                    });
                }
            }
            () = sleep(pause) => {
                // As long as the hold lasts, there is time to wait for a command that cannot be killed.
                if running.killed && running.lost.is_some() {
                    return Err(Failure::new(exit::HOLD_LOST, "the hold is lost, and the command cannot be killed")
                        .next("see what it hangs on: ps -o pid,stat,wchan,cmd; only the fencing token protects you now"));
                }
            }
        }
    }
}

/// A running CMD.
struct Running<'a> {
    task: &'a Task,
    child: Child,
    tree: Tree,
    guard: Option<Child>,
    terminal: Option<Terminal>,
    /// The end of validity that CMD must respect.
    end: Duration,
    lost: Option<String>,
    /// When CMD should have ended, so that the hold can be handed over.
    stop_by: Option<Duration>,
    termed: bool,
    killed: bool,
}

impl<'a> Running<'a> {
    fn start(task: &'a Task) -> Result<Self, Failure> {
        let run = format!("{}-{}", std::process::id(), since_boot().as_nanos());
        let format = if task.as_json { "json" } else { "table" };
        let child = task.command(&run, format, &task.command).spawn().map_err(cannot_run)?;
        let group = group_of(&child).ok_or_else(|| Failure::new(exit::CANNOT_RUN, "the command has no process"))?;
        let tree = Tree { group, run };
        let guard = task.start_guard(&tree);
        if guard.is_none() {
            say("tenure: cannot start the guard; a frozen tenure could not stop the command in time");
        }
        let (terminal, end) = (Terminal::open(), Duration::MAX);
        Ok(Self { task, child, tree, guard, terminal, end, lost: None, stop_by: None, termed: false, killed: false })
    }

    /// Applies a change of validity, and passes it on to the guard.
    async fn apply(&mut self, validity: Validity) {
        match validity {
            Validity::Lost(why) => {
                if self.lost.is_none() {
                    // SIGTERM is due now.
                    self.end = self.end.min(since_boot() + self.task.schedule.term_before);
                    self.lost = Some(why);
                }
            }
            Validity::Until(end) | Validity::HandOver { until: end, .. } => {
                if self.lost.is_none() || !self.killed {
                    self.end = end;
                }
                if let Validity::HandOver { stop_by, .. } = validity
                    && self.stop_by.is_none()
                    // A command that has just ended need not be stopped.
                    && matches!(self.child.try_wait(), Ok(None))
                {
                    self.stop_by = Some(stop_by);
                }
            }
        }
        self.notify_guard(&self.until()).await;
    }

    /// Performs the action due now, and returns how long to sleep.
    async fn stop_if_due(&mut self) -> Duration {
        let (schedule, now) = (self.task.schedule, since_boot());
        let mut due = schedule.due(now, self.end);
        if !matches!(due, Action::Wait(_)) {
            self.lose();
        } else if let Some(stop_by) = self.stop_by {
            due = schedule.due_for_handoff(now, self.end, stop_by);
        }
        let at = match due {
            Action::Wait(at) => {
                self.termed = false;
                at
            }
            Action::Term(kill_at) => {
                if !self.termed {
                    self.termed = true;
                    self.notify_guard("termed\n").await;
                    if let Some(why) = &self.lost {
                        say(&format!("tenure: {} is about to expire ({why}): stopping the command", self.task.lock));
                    }
                    self.tree.terminate();
                }
                kill_at
            }
            Action::Kill => {
                if !self.killed {
                    self.killed = true;
                    self.tree.kill();
                }
                now
            }
        };
        if self.killed { KILL_TIMEOUT } else { at.saturating_sub(now).min(MAX_SLEEP) }
    }

    /// Marks the hold as lost, unless it is already.
    fn lose(&mut self) {
        self.lost.get_or_insert_with(|| match self.task.health.as_ref().map(|check| check.health.borrow().clone()) {
            Some(Health::Unhealthy(why)) => why,
            Some(Health::Healthy) | None => NOT_RENEWED.to_owned(),
        });
    }

    /// The line with the end of validity, for the guard.
    fn until(&self) -> String {
        format!("until {}\n", nanos(self.end))
    }

    /// Sends the guard a line; a guard that does not read it is replaced.
    async fn notify_guard(&mut self, line: &str) {
        if !write(&mut self.guard, line).await {
            if let Some(guard) = &mut self.guard {
                // It would kill CMD at the end of its input.
                let _ = guard.start_kill();
            }
            self.guard = self.task.start_guard(&self.tree);
            let until = self.until();
            write(&mut self.guard, &until).await;
        }
    }

    /// Cleans up after CMD.
    async fn finish(mut self, status: ExitStatus) -> Outcome {
        if let Some(terminal) = &mut self.terminal {
            terminal.take_back();
        }
        if !matches!(self.task.schedule.due(since_boot(), self.end), Action::Wait(_)) {
            // The guard stopped it while this process was frozen, and this process notices only now.
            self.lose();
        }
        let outcome = match self.lost {
            Some(why) => Outcome::Lost(why),
            None if self.stop_by.is_some() => Outcome::Stopped,
            None => Outcome::Ended(code(status)),
        };
        if !matches!(outcome, Outcome::Ended(_)) {
            // Descendants of CMD must not outlive the hold either.
            self.tree.kill();
        }
        write(&mut self.guard, "done\n").await;
        if let Some(guard) = &mut self.guard {
            let _ = timeout(GUARD_TIMEOUT, guard.wait()).await;
        }
        outcome
    }
}

impl Task {
    /// A command that is killed with this process, in a process group of its own, and marked with `run`. If it cannot be
    /// run, that is reported in `format`.
    pub(super) fn command(&self, run: &str, format: &str, command: impl IntoIterator<Item: AsRef<OsStr>>) -> Command {
        let mut helper = Command::new(&self.own_program);
        helper
            .arg0("tenure")
            .args(["__exec", "--parent", &std::process::id().to_string()])
            .args(["--output", format, "--"])
            .args(command)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .env(RUN_VARIABLE, run)
            .process_group(0)
            .kill_on_drop(true);
        helper
    }

    /// Starts the guard process. None if that failed.
    fn start_guard(&self, tree: &Tree) -> Option<Child> {
        let mut guard = Command::new(&self.own_program);
        guard
            .arg0("tenure")
            .args(["__guard", "--group", &tree.group.as_raw_nonzero().to_string(), "--run", &tree.run])
            .args(["--lock", &self.lock])
            .args(["--term-before", &nanos(self.schedule.term_before).to_string()])
            .args(["--kill-before", &nanos(self.schedule.kill_before).to_string()])
            // Under another `tenure lock`, this process carries the mark of that one; the guard must outlive it.
            .env_remove(RUN_VARIABLE)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        if let Some((id, options)) = &self.session {
            guard.args(["--session", id]).envs(options.variables());
        }
        guard.spawn().ok()
    }
}

/// Whether the guard accepted the line.
async fn write(guard: &mut Option<Child>, line: &str) -> bool {
    let Some(input) = guard.as_mut().and_then(|guard| guard.stdin.as_mut()) else { return false };
    matches!(timeout(GUARD_TIMEOUT, input.write_all(line.as_bytes())).await, Ok(Ok(())))
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The process group that a child leads.
pub(super) fn group_of(child: &Child) -> Option<Pid> {
    Pid::from_raw(child.id()?.try_into().ok()?)
}

/// The exit code to pass on.
pub(super) fn code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;

    match (status.code(), status.signal()) {
        (Some(code), _) => u8::try_from(code).unwrap_or(u8::MAX),
        (None, Some(signal)) => exit::of_signal(signal),
        (None, None) => exit::REFUSED,
    }
}

fn cannot_run(error: std::io::Error) -> Failure {
    Failure::new(exit::CANNOT_RUN, format!("cannot run the command: {error}"))
}
