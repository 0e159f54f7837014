//! The protocol with a driver: requests and replies as JSON objects, one per line, matched by id.

use std::collections::{HashMap, VecDeque};
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anyhow::Context;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::oneshot;

/// The number of log lines that a failure shows.
const LOG_LINES: usize = 30;

/// A reply with its time.
#[derive(Clone, Debug)]
pub struct Answered {
    /// When the reply arrived.
    pub at: Instant,
    /// `ok`, or `error`.
    pub answer: Result<Value, Value>,
}

/// The channel to a driver process.
#[derive(Debug)]
pub struct DriverChannel {
    input: Option<ChildStdin>,
    last_id: u64,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: HashMap<u64, oneshot::Sender<Answered>>,
    /// The first output that was not a valid reply.
    invalid_output: Option<String>,
    log: VecDeque<String>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DriverChannel {
    /// Starts a driver, which is killed when its process is dropped.
    ///
    /// # Errors
    /// If the command cannot be run.
    pub fn begin(mut command: Command) -> anyhow::Result<(Child, Self)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let program = command.as_std().get_program().display().to_string();
        let mut child = command.spawn().with_context(|| format!("starting {program}"))?;
        let shared = Arc::new(Shared::default());
        let input = child.stdin.take();
        tokio::spawn(listen(child.stdout.take().context("no output")?, Arc::clone(&shared)));
        tokio::spawn(log(child.stderr.take().context("no log")?, Arc::clone(&shared)));
        Ok((child, Self { input, last_id: 0, shared }))
    }

    /// Sends a request; returns its id, and a receiver of the reply. If the driver ends without a reply, the
    /// receiver fails.
    ///
    /// # Errors
    /// If the driver's input is closed.
    pub async fn ask(
        &mut self,
        request: &str,
        fields: &Map<String, Value>,
    ) -> anyhow::Result<(u64, oneshot::Receiver<Answered>)> {
        self.last_id += 1;
        let id = self.last_id;
        let mut message = Map::from_iter([("id".to_owned(), json!(id)), ("do".to_owned(), json!(request))]);
        message.extend(fields.clone());
        let (sender, answer) = oneshot::channel();
        self.shared.lock().waiting.insert(id, sender);
        let line = format!("{}\n", Value::Object(message));
        let input = self.input.as_mut().context("the channel is closed")?;
        input.write_all(line.as_bytes()).await.context("the driver has ended")?;
        input.flush().await.context("the driver has ended")?;
        Ok((id, answer))
    }

    /// Closes the driver's input.
    pub fn end(&mut self) {
        self.input = None;
    }

    /// The first output that was not a valid reply.
    #[must_use]
    pub fn invalid_output(&self) -> Option<String> {
        self.shared.lock().invalid_output.clone()
    }

    /// Discards its log so far.
    pub fn clear_log(&self) {
        self.shared.lock().log.clear();
    }

    /// The end of its log.
    #[must_use]
    pub fn log(&self) -> String {
        Vec::from(self.shared.lock().log.clone()).join("\n")
    }
}

async fn listen(output: impl AsyncRead + Unpin, shared: Arc<Shared>) {
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let at = Instant::now();
        let mut state = shared.lock();
        match parse(&line) {
            Some((id, answer)) if state.waiting.contains_key(&id) => {
                if let Some(waiting) = state.waiting.remove(&id) {
                    // The requester may have been dropped.
                    let _ = waiting.send(Answered { at, answer });
                }
            }
            _ => {
                state.invalid_output.get_or_insert(line);
            }
        }
    }
    // No further replies will arrive.
    shared.lock().waiting.clear();
}

fn parse(line: &str) -> Option<(u64, Result<Value, Value>)> {
    let message: Value = serde_json::from_str(line).ok()?;
    let id = message.get("id")?.as_u64()?;
    match (message.get("ok"), message.get("error")) {
        (Some(ok), None) => Some((id, Ok(ok.clone()))),
        (None, Some(error)) => Some((id, Err(error.clone()))),
        _ => None,
    }
}

async fn log(output: impl AsyncRead + Unpin, shared: Arc<Shared>) {
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let mut state = shared.lock();
        state.log.push_back(line);
        if state.log.len() > LOG_LINES {
            state.log.pop_front();
        }
    }
}
