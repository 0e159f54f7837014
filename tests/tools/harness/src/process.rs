//! A server process that can be started, stopped, killed, frozen and restarted.

use std::fs::{self, File, OpenOptions};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::folder::Folder;
use crate::program::User;
use crate::wait::holds_within;

/// How long a server may take to start or to stop.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The number of log lines that a failure shows.
const LOG_LINES: usize = 60;

/// A server process with its folder.
#[derive(Debug)]
pub struct Process {
    name: &'static str,
    command: Command,
    /// The signal for a graceful end.
    stop_signal: Signal,
    child: Option<Child>,
    frozen: Vec<Pid>,
    folder: Folder,
}

impl Process {
    /// Prepares a process. It will run in `folder`, as `user`, in a process group of its own, and log there.
    pub(crate) fn new(
        name: &'static str,
        mut command: Command,
        folder: Folder,
        user: Option<User>,
        stop_signal: Signal,
    ) -> Self {
        command.current_dir(folder.path()).stdin(Stdio::null()).process_group(0);
        run_as(&mut command, user);
        Self { name, command, stop_signal, child: None, frozen: Vec::new(), folder }
    }

    /// The file with its output, of all its runs in order.
    #[must_use]
    pub fn log_file(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// Its folder.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Sets an environment variable for the next start.
    pub(crate) fn set_environment(&mut self, name: &str, value: &str) {
        self.command.env(name, value);
    }

    /// The end of its output, for failure messages.
    #[must_use]
    pub fn log_tail(&self) -> String {
        let log = fs::read(self.log_file()).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
    }

    /// Starts it and waits until it is `ready`.
    pub(crate) async fn start(&mut self, mut ready: impl AsyncFnMut() -> bool) -> anyhow::Result<()> {
        if self.child.is_some() {
            bail!("{} is running already", self.name);
        }
        let log = OpenOptions::new().create(true).append(true).open(self.log_file()).context("opening a log")?;
        self.command.stdout(copy_of(&log)?).stderr(log);
        let child = self.command.spawn().with_context(|| format!("starting {}", self.name))?;
        self.folder.record_process(Some(child.id()))?;
        self.child = Some(child);
        let mut ended = false;
        let is_ready = holds_within(TIMEOUT, async || {
            ended = self.child.as_mut().is_some_and(|child| !matches!(child.try_wait(), Ok(None)));
            ended || ready().await
        })
        .await;
        if is_ready && !ended {
            return Ok(());
        }
        let log = self.log_tail();
        if ended {
            self.clear()?;
            bail!("{} ended instead of starting. Its log ends with:\n{log}", self.name);
        }
        bail!("{} was not ready within {TIMEOUT:?}. Its log ends with:\n{log}", self.name);
    }

    /// The id of the process: None if it was not started, or was stopped.
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Whether it is running. A frozen one counts as running.
    pub fn is_running(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// Ends it gracefully and waits for the end.
    ///
    /// # Errors
    /// If it does not stop.
    pub async fn stop(&mut self) -> anyhow::Result<()> {
        self.resume()?;
        let Some(child) = &self.child else { return Ok(()) };
        let _ = kill_process(Pid::from_child(child), self.stop_signal);
        if !holds_within(TIMEOUT, async || !self.is_running()).await {
            bail!("{} did not stop within {TIMEOUT:?}. Its log ends with:\n{}", self.name, self.log_tail());
        }
        self.clear()
    }

    /// Sends it a signal, without waiting.
    pub(crate) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let child = self.child.as_ref().with_context(|| format!("{} is not running", self.name))?;
        kill_process(Pid::from_child(child), signal).with_context(|| format!("signalling {}", self.name))
    }

    /// Kills it and all its descendants at once, as a crash of the machine would, and waits until they are gone.
    ///
    /// # Errors
    /// If it survives that.
    pub async fn kill(&mut self) -> anyhow::Result<()> {
        let Some(child) = &self.child else { return Ok(()) };
        // All are frozen first, so that none can observe the others' death or start new ones.
        let all = freeze(Pid::from_child(child), self.folder.path());
        for process in &all {
            let _ = kill_process(*process, Signal::KILL);
        }
        self.frozen.clear();
        if !holds_within(TIMEOUT, async || !self.is_running() && !all.iter().any(|process| is_alive(*process))).await {
            bail!("{} could not be killed within {TIMEOUT:?}", self.name);
        }
        self.clear()
    }

    /// Kills only this process and not its children, and waits until it is gone.
    pub(crate) async fn kill_alone(&mut self) -> anyhow::Result<()> {
        self.signal(Signal::KILL)?;
        if !holds_within(TIMEOUT, async || !self.is_running()).await {
            bail!("{} could not be killed within {TIMEOUT:?}", self.name);
        }
        self.clear()
    }

    /// Freezes it and all its descendants: connections stay open, but nothing answers.
    ///
    /// # Errors
    /// If it is not running, or does not stop.
    pub async fn pause(&mut self) -> anyhow::Result<()> {
        let child = self.child.as_ref().with_context(|| format!("{} is not running", self.name))?;
        self.frozen = freeze(Pid::from_child(child), self.folder.path());
        stopped(&self.frozen).await
    }

    /// Resumes it after [`Process::pause`].
    ///
    /// # Errors
    /// None that are known.
    pub fn resume(&mut self) -> anyhow::Result<()> {
        for process in self.frozen.drain(..).rev() {
            let _ = kill_process(process, Signal::CONT);
        }
        Ok(())
    }

    fn clear(&mut self) -> anyhow::Result<()> {
        self.child = None;
        self.folder.record_process(None)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- the log of {} ends with:\n{}\n---", self.name, self.log_tail());
        }
        // The folder's reaper ends running processes; it could not end frozen ones.
        let _ = self.resume();
    }
}

/// Gives a server the methods of its process.
macro_rules! runs_as_process {
    ($server:ty $(, $parameter:ident)?) => {
        impl$(<$parameter>)? std::ops::Deref for $server {
            type Target = crate::process::Process;

            fn deref(&self) -> &Self::Target {
                &self.process
            }
        }

        impl$(<$parameter>)? std::ops::DerefMut for $server {
            fn deref_mut(&mut self) -> &mut Self::Target {
                &mut self.process
            }
        }
    };
}

pub(crate) use runs_as_process;

/// Makes `command` run as `user`.
pub(crate) fn run_as(command: &mut Command, user: Option<User>) {
    if let Some(user) = user {
        command.uid(user.id).gid(user.group);
    }
}

fn copy_of(log: &File) -> anyhow::Result<File> {
    log.try_clone().context("opening a log twice")
}

/// Stops a process, the processes in its folder, and their descendants, and returns them, parents before children.
fn freeze(root: Pid, folder: &Path) -> Vec<Pid> {
    let mut frozen: Vec<Pid> = Vec::new();
    // Repeats until there are no new processes: one may have been started before its parent was stopped.
    loop {
        let fresh: Vec<Pid> =
            process_tree(root, folder).into_iter().filter(|process| !frozen.contains(process)).collect();
        if fresh.is_empty() {
            return frozen;
        }
        for process in fresh {
            let _ = kill_process(process, Signal::STOP);
            frozen.push(process);
        }
    }
}

/// Freezes a process with SIGSTOP, until SIGCONT.
///
/// # Errors
/// If there is no such process, or it does not stop.
pub async fn freeze_process(process: Pid) -> anyhow::Result<()> {
    kill_process(process, Signal::STOP)?;
    stopped(&[process]).await
}

/// Freezes all processes of a group with SIGSTOP, until SIGCONT.
///
/// # Errors
/// If there is no such group, or they do not stop.
pub async fn freeze_group(group: Pid) -> anyhow::Result<()> {
    kill_process_group(group, Signal::STOP)?;
    let members: Vec<Pid> = processes().filter(|(_, stat)| stat.group == Some(group)).map(|(id, _)| id).collect();
    stopped(&members).await
}

/// Waits until all threads of processes that were sent SIGSTOP have stopped: on a busy machine they continue for a
/// while, and may answer a request.
async fn stopped(processes: &[Pid]) -> anyhow::Result<()> {
    let have_stopped = async || processes.iter().all(|process| has_stopped(*process));
    ensure!(holds_within(TIMEOUT, have_stopped).await, "processes {processes:?} do not stop within {TIMEOUT:?}");
    Ok(())
}

/// Whether no thread of a process runs, or it has ended.
fn has_stopped(process: Pid) -> bool {
    let threads = fs::read_dir(format!("/proc/{}/task", process.as_raw_nonzero()));
    let mut threads = threads.into_iter().flatten().flatten();
    threads.all(|thread| Stat::read(&thread.path()).is_none_or(|stat| "TtZX".contains(stat.state)))
}

/// A process, the processes in its folder, and their descendants, parents before children.
fn process_tree(root: Pid, folder: &Path) -> Vec<Pid> {
    let parents: Vec<(Pid, Pid)> = processes().filter_map(|(id, stat)| Some((id, stat.parent?))).collect();
    // Processes that were detached from their parent still have their working directory there.
    let detached = parents.iter().filter(|(id, of)| *id != root && works_in(*id, folder) && !works_in(*of, folder));
    let mut found = vec![root];
    found.extend(detached.map(|(id, _)| *id));
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        let children = parents.iter().filter(|(id, of)| *of == parent && !found.contains(id)).map(|(id, _)| *id);
        found.extend(children.collect::<Vec<_>>());
        next += 1;
    }
    found
}

/// Whether a process's working directory is a folder or below it.
fn works_in(process: Pid, folder: &Path) -> bool {
    fs::read_link(format!("/proc/{}/cwd", process.as_raw_nonzero())).is_ok_and(|path| path.starts_with(folder))
}

/// Whether a process exists and is not a zombie.
fn is_alive(process: Pid) -> bool {
    let folder = format!("/proc/{}", process.as_raw_nonzero());
    Stat::read(Path::new(&folder)).is_some_and(|stat| stat.state != 'Z' && stat.state != 'X')
}

/// All processes.
fn processes() -> impl Iterator<Item = (Pid, Stat)> {
    fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
        let id = entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw)?;
        Some((id, Stat::read(&entry.path())?))
    })
}

/// A part of the status of a process or thread.
struct Stat {
    /// The state letter.
    state: char,
    parent: Option<Pid>,
    group: Option<Pid>,
}

impl Stat {
    /// From `stat` in the folder of the process or thread: `id (name) state parent group ...`.
    fn read(folder: &Path) -> Option<Self> {
        let stat = fs::read_to_string(folder.join("stat")).ok()?;
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_whitespace();
        let state = fields.next()?.chars().next()?;
        let parent = Pid::from_raw(fields.next()?.parse().ok()?);
        let group = Pid::from_raw(fields.next()?.parse().ok()?);
        Some(Self { state, parent, group })
    }
}
