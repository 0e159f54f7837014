//! A driver: a process that does in its language what it is asked.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::oneshot;
use tokio::time::sleep;

/// How long it may take to stand still ...
const FREEZE: Duration = Duration::from_secs(10);

/// ... and how often that is looked at.
const PAUSE: Duration = Duration::from_millis(5);

/// How much of its log a failure shows.
const LOG_LINES: usize = 30;

/// What was answered, and when.
#[derive(Clone, Debug)]
pub struct Answered {
    /// When the answer was there.
    pub at: Instant,
    /// `ok`, or `error`.
    pub answer: Result<Value, Value>,
}

/// A driver's process.
#[derive(Debug)]
pub struct Driver {
    child: Child,
    group: Pid,
    input: Option<ChildStdin>,
    last_id: u64,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    talk: Mutex<Talk>,
}

#[derive(Debug, Default)]
struct Talk {
    waiting: HashMap<u64, oneshot::Sender<Answered>>,
    /// What it said that cannot be understood.
    nonsense: Option<String>,
    log: VecDeque<String>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Talk> {
        self.talk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Driver {
    /// Starts one.
    ///
    /// # Errors
    /// If the command cannot be run.
    pub fn start(mut command: Command) -> anyhow::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).kill_on_drop(true);
        let program = command.as_std().get_program().display().to_string();
        let mut child = command.spawn().with_context(|| format!("starting {program}"))?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed())).context("a driver without a process")?;
        let shared = Arc::new(Shared::default());
        let input = child.stdin.take();
        tokio::spawn(listen(child.stdout.take().context("no output")?, Arc::clone(&shared)));
        tokio::spawn(log(child.stderr.take().context("no log")?, Arc::clone(&shared)));
        Ok(Self { child, group, input, last_id: 0, shared })
    }

    /// Asks for something: answers the request's id, and what will be answered. An end without an answer is the driver's.
    ///
    /// # Errors
    /// If nothing can be said to it any more.
    pub async fn ask(
        &mut self,
        request: &str,
        fields: &Map<String, Value>,
    ) -> anyhow::Result<(u64, oneshot::Receiver<Answered>)> {
        self.last_id += 1;
        let id = self.last_id;
        let mut said = Map::from_iter([("id".to_owned(), json!(id)), ("do".to_owned(), json!(request))]);
        said.extend(fields.clone());
        let (tell, answer) = oneshot::channel();
        self.shared.lock().waiting.insert(id, tell);
        let line = format!("{}\n", Value::Object(said));
        let input = self.input.as_mut().context("the driver was killed")?;
        input.write_all(line.as_bytes()).await.context("the driver has ended")?;
        input.flush().await.context("the driver has ended")?;
        Ok((id, answer))
    }

    /// Kills it, with all that it started.
    pub async fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.input = None;
        let _ = self.child.wait().await;
    }

    /// Freezes it, and waits until it stands still: on a busy machine it may go on for a while, and be asked something.
    ///
    /// # Errors
    /// If it does not.
    pub async fn freeze(&self) -> anyhow::Result<()> {
        self.signal(Signal::STOP);
        let began = Instant::now();
        while !is_frozen(self.group) {
            ensure!(began.elapsed() < FREEZE, "the driver does not freeze");
            sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Lets it run on.
    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    /// What it said that cannot be understood.
    #[must_use]
    pub fn nonsense(&self) -> Option<String> {
        self.shared.lock().nonsense.clone()
    }

    /// The end of its log.
    #[must_use]
    pub fn log(&self) -> String {
        Vec::from(self.shared.lock().log.clone()).join("\n")
    }

    fn signal(&self, signal: Signal) {
        // Its group is gone only when the process was waited for.
        if self.child.id().is_some() {
            let _ = kill_process_group(self.group, signal);
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// Whether all threads of all processes of a group are stopped, or over.
fn is_frozen(group: Pid) -> bool {
    let of = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let members = of(Path::new("/proc")).filter(|process| state_and_group(process).is_some_and(|(_, of)| of == group));
    let mut threads = members.flat_map(|process| of(&process.join("task")).collect::<Vec<_>>());
    threads.all(|thread| state_and_group(&thread).is_none_or(|(state, _)| "TZX".contains(state)))
}

/// The state letter and the group of a process or thread, from its `stat`: `id (name) state parent group ...`.
fn state_and_group(folder: &Path) -> Option<(char, Pid)> {
    let stat = fs::read_to_string(folder.join("stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?.chars().next()?;
    let group = Pid::from_raw(fields.nth(1)?.parse().ok()?)?;
    Some((state, group))
}

async fn listen(output: impl AsyncRead + Unpin, shared: Arc<Shared>) {
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let at = Instant::now();
        let mut talk = shared.lock();
        match understand(&line) {
            Some((id, answer)) if talk.waiting.contains_key(&id) => {
                if let Some(waiting) = talk.waiting.remove(&id) {
                    // Whoever asked may have gone.
                    let _ = waiting.send(Answered { at, answer });
                }
            }
            _ => {
                talk.nonsense.get_or_insert(line);
            }
        }
    }
    // Nobody is answered any more.
    shared.lock().waiting.clear();
}

fn understand(line: &str) -> Option<(u64, Result<Value, Value>)> {
    let said: Value = serde_json::from_str(line).ok()?;
    let id = said.get("id")?.as_u64()?;
    match (said.get("ok"), said.get("error")) {
        (Some(ok), None) => Some((id, Ok(ok.clone()))),
        (None, Some(error)) => Some((id, Err(error.clone()))),
        _ => None,
    }
}

async fn log(output: impl AsyncRead + Unpin, shared: Arc<Shared>) {
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let mut talk = shared.lock();
        talk.log.push_back(line);
        if talk.log.len() > LOG_LINES {
            talk.log.pop_front();
        }
    }
}
