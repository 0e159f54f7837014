//! Supervises CMD from its start to its end.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::Pid;
use tenure_client::transport::Security;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, Command};
use tokio::signal::unix::{self, SignalKind};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::health::{Health, HealthCheck};
use super::process::{RUN_VARIABLE, Tree, since_boot};
use super::schedule::{Action, Schedule};
use super::signals::Signals;
use super::terminal::Terminal;
use crate::args;
use crate::exit::{self, Failure};
use crate::output::say;

/// The maximum sleep: timers stop during suspend, so the clock is read again.
const NAP: Duration = Duration::from_millis(250);
/// How long the guard may take to read a line before it counts as broken.
const GUARD_PATIENCE: Duration = Duration::from_millis(200);
/// How long a killed command may take to exit.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// The command to run, and its constraints.
#[derive(Debug, Clone)]
pub struct Task {
    /// The executable of `tenure` itself, which runs the steps beside this process.
    pub own_program: PathBuf,
    /// CMD and its arguments.
    pub command: Vec<OsString>,
    /// The variables added to its environment.
    pub environment: Vec<(String, String)>,
    /// Whether a failure to run CMD is reported as JSON.
    pub as_json: bool,
    /// The lock, for messages.
    pub lock: String,
    /// The session to close if this process is killed, with what that call needs. None: nothing is closed, and the
    /// session ends by its TTL.
    pub session: Option<SessionToClose>,
    /// When to stop CMD.
    pub schedule: Schedule,
    /// How to check the health of CMD. None: CMD counts as healthy while it runs.
    pub health: Option<HealthCheck>,
}

/// A session that the guard closes if its owner was killed.
#[derive(Debug, Clone)]
pub struct SessionToClose {
    /// Its id.
    pub id: String,
    /// The servers.
    pub endpoints: Vec<String>,
    /// Its namespace.
    pub namespace: String,
    /// How connections to them are secured.
    pub security: Security,
}

/// The reason for the loss of a hold that was not ended explicitly.
const UNRENEWED: &str = "it could not be renewed in time";

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
        gone_by: Duration,
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
    let mut children = unix::signal(SignalKind::child()).map_err(cannot_start)?;
    let mut running = Running::start(task)?;
    let known = validity.borrow_and_update().clone();
    let mut told = true;
    running.heed(&known).await;
    let run = running.tree.run().to_owned();
    let mut checks = std::pin::pin!(async {
        match &task.health {
            Some(check) => check.watch(task, &run).await,
            None => std::future::pending().await,
        }
    });
    loop {
        let nap = running.stop_if_due(&task.schedule).await;
        let limit = if running.killed { LAST_WAIT } else { nap.min(NAP) };
        tokio::select! {
            status = running.child.wait() => {
                return Ok(running.finish(status.map_err(cannot_start)?).await);
            }
            changed = validity.changed(), if told => {
                told = changed.is_ok();
                let known = validity.borrow_and_update().clone();
                running.heed(&known).await;
            }
            // A command that was sent SIGTERM need not be healthy.
            never = &mut checks, if !running.termed => match never {},
            signal = signals.next() => running.tree.signal_group(signal),
            _ = children.recv() => {
                let left = running.end.saturating_sub(since_boot()).as_secs();
                let notice = || format!("\ntenure: unless it goes on within {left} s, {} is lost and the command killed", task.lock);
                running.terminal.attend(&running.tree, notice);
            }
            () = sleep(limit) => {
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
    guard: Option<Guard>,
    terminal: Terminal,
    /// The end of validity that CMD must respect.
    end: Duration,
    lost: Option<String>,
    /// When CMD should have ended, so that the hold can be handed over.
    gone_by: Option<Duration>,
    termed: bool,
    killed: bool,
}

impl<'a> Running<'a> {
    fn start(task: &'a Task) -> Result<Self, Failure> {
        let own = std::process::id();
        let run = format!("{own}-{}", since_boot().as_nanos());
        let child = Command::new(&task.own_program)
            .arg0("tenure")
            .args(["__exec", "--parent", &own.to_string()])
            .args(["--output", if task.as_json { "json" } else { "table" }, "--"])
            .args(&task.command)
            .envs(task.environment.iter().map(|(name, value)| (name, value)))
            .env(RUN_VARIABLE, &run)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(cannot_start)?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let group = group.ok_or_else(|| Failure::new(exit::CANNOT_RUN, "the command has no process"))?;
        let tree = Tree::new(group, run.clone());
        let guard = Guard::start(task, group, &run);
        if guard.is_none() {
            say("tenure: cannot start the guard; a frozen tenure could not stop the command in time");
        }
        let terminal = Terminal::open();
        let end = Duration::MAX;
        Ok(Self { task, child, tree, guard, terminal, end, lost: None, gone_by: None, termed: false, killed: false })
    }

    /// Applies a change of validity, and passes it on to the guard.
    async fn heed(&mut self, validity: &Validity) {
        if let Validity::HandOver { gone_by, .. } = validity
            && self.gone_by.is_none()
            // A command that has just ended need not be stopped.
            && matches!(self.child.try_wait(), Ok(None))
        {
            self.gone_by = Some(*gone_by);
        }
        match validity {
            Validity::Until(end) | Validity::HandOver { until: end, .. } => {
                if self.lost.is_none() || !self.killed {
                    self.end = *end;
                }
            }
            Validity::Lost(why) => {
                if self.lost.is_none() {
                    self.end = self.task.schedule.end_if_lost(since_boot()).min(self.end);
                    self.lost = Some(why.clone());
                }
            }
        }
        let nanos = u64::try_from(self.end.as_nanos()).unwrap_or(u64::MAX);
        self.tell(&format!("until {nanos}\n")).await;
    }

    /// Performs the action due now, and returns the time until the next one.
    async fn stop_if_due(&mut self, schedule: &Schedule) -> Duration {
        let now = since_boot();
        let mut due = schedule.due(now, self.end);
        if !matches!(due, Action::Wait(_)) {
            self.lose();
        } else if let Some(gone_by) = self.gone_by {
            due = schedule.due_to_hand_over(now, self.end, gone_by);
        }
        let at = match due {
            Action::Wait(at) => {
                self.termed = false;
                at
            }
            Action::Term(kill_at) => {
                if !self.termed {
                    self.termed = true;
                    self.tell("termed\n").await;
                    if let Some(why) = &self.lost {
                        say(&format!("tenure: {} is at its end ({why}): stopping the command", self.task.lock));
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
                now + LAST_WAIT
            }
        };
        at.saturating_sub(now)
    }

    /// Marks the hold as lost, unless it is already.
    fn lose(&mut self) {
        self.lost.get_or_insert_with(|| match self.task.health.as_ref().map(|check| check.health.borrow().clone()) {
            Some(Health::Unhealthy(why)) => why,
            Some(Health::Healthy) | None => UNRENEWED.to_owned(),
        });
    }

    /// Sends the guard a line; a guard that does not read it is replaced.
    async fn tell(&mut self, line: &str) {
        if let Some(guard) = &mut self.guard
            && guard.tell(line).await
        {
            return;
        }
        self.guard = Guard::start(self.task, self.tree.group(), self.tree.run());
        if let Some(guard) = &mut self.guard {
            let nanos = u64::try_from(self.end.as_nanos()).unwrap_or(u64::MAX);
            guard.tell(&format!("until {nanos}\n")).await;
        }
    }

    /// Cleans up after CMD.
    async fn finish(mut self, status: ExitStatus) -> Outcome {
        self.terminal.take_back();
        if !matches!(self.task.schedule.due(since_boot(), self.end), Action::Wait(_)) {
            // The guard stopped it while this process was frozen, and this process notices only now.
            self.lose();
        }
        let outcome = match self.lost.take() {
            Some(why) => Outcome::Lost(why),
            None if self.gone_by.is_some() => Outcome::Stopped,
            None => Outcome::Ended(code(status)),
        };
        if !matches!(outcome, Outcome::Ended(_)) {
            // Descendants of CMD must not outlive the hold either.
            self.tree.kill();
        }
        self.dismiss().await;
        outcome
    }

    async fn dismiss(&mut self) {
        if let Some(mut guard) = self.guard.take() {
            guard.tell("done\n").await;
            let _ = timeout(GUARD_PATIENCE, guard.child.wait()).await;
        }
    }
}

/// The guard process, as seen from this one.
struct Guard {
    child: Child,
    input: ChildStdin,
}

impl Guard {
    fn start(task: &Task, group: Pid, run: &str) -> Option<Self> {
        let nanos = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX).to_string();
        let mut command = Command::new(&task.own_program);
        if let Some(session) = &task.session {
            command.env("TENURE_ENDPOINTS", session.endpoints.join(",")).env("TENURE_NAMESPACE", &session.namespace);
            command.envs(args::variables(&session.security));
        }
        let session = task.session.iter().flat_map(|session| ["--session", session.id.as_str()]);
        let mut child = command
            .arg0("tenure")
            .args(["__guard", "--group", &group.as_raw_nonzero().to_string(), "--run", run, "--lock", &task.lock])
            .args(["--term-before", &nanos(task.schedule.term_before)])
            .args(["--kill-before", &nanos(task.schedule.kill_before)])
            .args(session)
            // Under another `tenure lock`, this process carries the mark of that one; the guard must outlive it.
            .env_remove(RUN_VARIABLE)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .ok()?;
        let input = child.stdin.take()?;
        Some(Self { child, input })
    }

    /// Whether the guard accepted the line.
    async fn tell(&mut self, line: &str) -> bool {
        matches!(timeout(GUARD_PATIENCE, self.input.write_all(line.as_bytes())).await, Ok(Ok(())))
    }
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

fn cannot_start(error: std::io::Error) -> Failure {
    Failure::new(exit::CANNOT_RUN, format!("cannot run the command: {error}"))
}
