//! The state of a client: its sessions, claims and watches, and the commands that a server needs for them. No I/O and
//! no clock; the connection's task passes in the time, the received answers and the requests, and takes out the
//! commands to send.
//!
//! Recovery is the ordinary path: it is harmless to send a command again, so each new stream begins with all commands
//! that have no answer yet.

mod answer;
mod claim;
mod claim_answer;
mod closing;
mod opening;
mod progress;
mod session;
mod stray;
mod stream;
#[cfg(test)]
mod tests;
mod timers;
mod turns;
mod watch;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use tenure_proto::v1;
use tenure_proto::v1::command::Kind;
use tokio::sync::oneshot;

use self::closing::Closing;
use self::opening::Opening;
use self::session::Live;
use self::stream::{Stream, What};
use self::timers::{Timer, Timers};
use self::watch::Watched;
use crate::backoff::Backoff;
use crate::clock::Moment;
use crate::connection::{Note, Request, WatchKey};
use crate::error::{Error, Refusal, Result};
use crate::session_id::SessionId;
use crate::trace::Trace;

/// Pauses between attempts of a command that was refused temporarily: from this ...
const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// ... to this.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// The namespace of commands that name none: the contract's.
const DEFAULT_NAMESPACE: &str = "default";
/// With this many unsent commands, no more requests are accepted.
const COMMANDS_IN_QUEUE: usize = 4096;

/// What to do with the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Connect to another server, and use the stream meanwhile.
    Leave,
    /// Drop the stream, and connect to another server.
    Broken,
}

/// By session, in a fixed order, so that the commands do not depend on hashes.
type Map<T> = IndexMap<SessionId, T, foldhash::fast::RandomState>;

/// The state of a client.
#[derive(Debug)]
pub(crate) struct Engine {
    /// As commands name it: empty for the default one.
    namespace: String,
    /// The id of this program, so that another one that opens a session of the same id is refused.
    client_id: String,
    stream: Option<Stream>,
    /// The last command of the earlier streams: their numbers are not used again.
    last_command: u64,
    verdict: Option<Verdict>,
    /// Why there is no stream.
    problem: String,
    openings: Map<Opening>,
    sessions: Map<Live>,
    closings: Map<Closing>,
    watches: BTreeMap<WatchKey, Watched>,
    timers: Timers,
    shutting_down: Option<ShutDown>,
}

#[derive(Debug)]
struct ShutDown {
    deadline: Moment,
    reply: Option<oneshot::Sender<Result<()>>>,
}

impl Engine {
    pub(crate) fn new(namespace: String, client_id: String) -> Self {
        Self {
            namespace: if namespace == DEFAULT_NAMESPACE { String::new() } else { namespace },
            client_id,
            stream: None,
            last_command: 0,
            verdict: None,
            problem: "not connected yet".to_owned(),
            openings: Map::default(),
            sessions: Map::default(),
            closings: Map::default(),
            watches: BTreeMap::new(),
            timers: Timers::default(),
            shutting_down: None,
        }
    }

    /// Processes a request.
    pub(crate) fn request(&mut self, request: Request, now: Moment) {
        if self.shutting_down.is_some() {
            // Its reply is dropped, which the caller sees as `Closed`.
            return;
        }
        match request {
            Request::Open { id, options, connection, trace, deadline, reply } => {
                self.open(id, Opening::new(*options, connection, trace, deadline, reply), now);
            }
            Request::Close { session, presence, deadline, reply } => {
                if self.sessions.get(&session).is_none_or(|live| Arc::ptr_eq(&live.presence, &presence)) {
                    self.close(&session, deadline, reply, now);
                } else {
                    // It has ended, and another session has its id now.
                    let _ = reply.send(Ok(()));
                }
            }
            Request::Acquire { claim, session, spec, wait, asked, reply } => {
                // The note of a caller that was dropped may have been processed already.
                if !reply.is_closed() {
                    self.acquire(claim, session, spec, wait, asked, reply, now);
                }
            }
            Request::Release { session, claim, trace, deadline, reply } => {
                if let Some(claim) = self.sessions.get_mut(&session).and_then(|live| live.claims.get_mut(&claim)) {
                    claim.spec.trace = trace;
                }
                self.release(&session, claim, Some((reply, deadline)), now);
            }
            Request::ShutDown { deadline, reply } => self.shut_down(deadline, Some(reply), now),
        }
    }

    /// Processes a note.
    pub(crate) fn note(&mut self, note: Note, now: Moment) {
        match note {
            Note::SessionDropped { session, presence } => {
                if self.sessions.get(&session).is_some_and(|live| Arc::ptr_eq(&live.presence, &presence)) {
                    self.close_unasked(&session, now);
                }
            }
            Note::ClaimDropped { session, claim } => self.drop_claim(&session, claim, now),
            Note::WatchStarted { watch, options, items, paused } => {
                if self.shutting_down.is_none() {
                    self.start_watch(watch, Watched::new(options, items, paused), now);
                }
            }
            Note::WatchDrained { watch } => self.resume_watch(watch, now),
            Note::WatchDropped { watch } => self.drop_watch(watch),
        }
    }

    /// A stream was opened: sends all commands that have no answer yet.
    pub(crate) fn connected(&mut self, now: Moment) {
        self.detach_all();
        self.stream = Some(Stream::after(self.last_command));
        self.verdict = None;
        for id in self.sessions.keys().cloned().collect::<Vec<_>>() {
            self.send_attach(&id, now);
        }
        for id in self.openings.keys().cloned().collect::<Vec<_>>() {
            self.send_open(&id, now);
        }
        for id in self.closings.keys().cloned().collect::<Vec<_>>() {
            self.send_close(&id, now);
        }
        for key in self.watches.keys().copied().collect::<Vec<_>>() {
            self.send_watch(key, now);
        }
    }

    /// The stream is gone.
    pub(crate) fn disconnected(&mut self, problem: String) {
        self.detach_all();
        self.problem = problem;
    }

    /// Why there is no stream. Open sessions remain while they are valid; those being opened fail if the credentials
    /// are refused.
    pub(crate) fn trouble(&mut self, error: Error, now: Moment) {
        match error {
            Error::Refused(refusal) => {
                self.problem = refusal.message.clone();
                for (id, opening) in std::mem::take(&mut self.openings) {
                    self.abandon_opening(id, opening, Error::Refused(refusal.clone()), now);
                }
            }
            Error::Unavailable(problem) => self.problem = problem,
            error => self.problem = error.to_string(),
        }
    }

    /// The verdict on the stream since the last call.
    pub(crate) fn take_verdict(&mut self) -> Option<Verdict> {
        self.verdict.take()
    }

    /// Whether every session is attached to the stream.
    pub(crate) fn is_settled(&self) -> bool {
        self.stream.is_some() && self.sessions.values().all(Live::is_attached)
    }

    /// The shortest time for which a renewal of a session is valid, if there is a session.
    pub(crate) fn shortest_window(&self) -> Option<Duration> {
        self.sessions.values().map(|live| live.presence.window()).min()
    }

    /// Whether more requests are accepted.
    pub(crate) fn has_space(&self) -> bool {
        self.stream.as_ref().is_none_or(|stream| stream.outgoing.len() < COMMANDS_IN_QUEUE)
    }

    /// Whether there are commands to send.
    pub(crate) fn has_outgoing(&self) -> bool {
        self.stream.as_ref().is_some_and(|stream| !stream.outgoing.is_empty())
    }

    /// The next commands to send: at most `most`.
    pub(crate) fn take_outgoing(&mut self, most: usize) -> Vec<v1::Command> {
        let Some(stream) = &mut self.stream else { return Vec::new() };
        let count = stream.outgoing.len().min(most);
        stream.outgoing.drain(..count).collect()
    }

    /// When to call [`due`](Self::due) next.
    pub(crate) fn next_deadline(&self) -> Option<Moment> {
        self.timers.next()
    }

    /// Executes the timers that are due.
    pub(crate) fn due(&mut self, now: Moment) {
        while let Some(timer) = self.timers.pop(now) {
            match timer {
                Timer::Open(id) => self.send_open(&id, now),
                Timer::OpenTimeout(id) => self.time_out_opening(&id, now),
                Timer::Attach(id) => self.send_attach(&id, now),
                Timer::Renew(id) => self.renew_if_due(&id, now),
                Timer::Phase(id) => self.phase_due(&id, now),
                Timer::Close(id) => self.send_close(&id, now),
                Timer::CloseTimeout(id) => self.time_out_closing(&id, now),
                Timer::CloseForget(id) => self.forget_closing(&id, now),
                Timer::Claim(session, claim) => self.send_claim(&session, claim, now),
                Timer::ClaimTimeout(session, claim) => self.time_out_claim(&session, claim, now),
                Timer::Watch(key) => self.send_watch(key, now),
                Timer::Silence(command) => self.check_silence(command),
                Timer::Slow(command) => self.check_slow(command),
                Timer::ShutDown => self.time_out_shut_down(now),
            }
        }
    }

    /// Closes all sessions and ends all watches.
    pub(crate) fn shut_down(&mut self, deadline: Moment, reply: Option<oneshot::Sender<Result<()>>>, now: Moment) {
        self.shutting_down = Some(ShutDown { deadline, reply });
        self.timers.set(deadline, Timer::ShutDown);
        self.watches.clear();
        for (id, opening) in std::mem::take(&mut self.openings) {
            self.abandon_opening(id, opening, Error::Closed, now);
        }
        for id in self.sessions.keys().cloned().collect::<Vec<_>>() {
            self.close_unasked(&id, now);
        }
    }

    /// Whether a requested shutdown is complete.
    pub(crate) fn take_shut_down(&mut self) -> bool {
        if !self.closings.is_empty() || !self.sessions.is_empty() {
            return false;
        }
        let Some(shut_down) = self.shutting_down.take() else { return false };
        if let Some(reply) = shut_down.reply {
            // The caller may have stopped waiting.
            let _ = reply.send(Ok(()));
        }
        true
    }

    fn time_out_shut_down(&mut self, now: Moment) {
        if let Some(shut_down) = &mut self.shutting_down
            && shut_down.deadline <= now
        {
            if let Some(reply) = shut_down.reply.take() {
                let _ = reply.send(Err(Error::Unavailable(self.problem.clone())));
            }
            self.closings.clear();
            self.sessions.clear();
        }
    }

    fn detach_all(&mut self) {
        if let Some(stream) = self.stream.take() {
            self.last_command = stream.last_command;
        }
        self.sessions.values_mut().for_each(Live::detach);
        self.openings.values_mut().for_each(|opening| opening.command = None);
        self.closings.values_mut().for_each(|closing| closing.command = None);
        self.watches.values_mut().for_each(Watched::detach);
    }

    /// Sends a command if there is a stream. Returns its id.
    fn send(&mut self, kind: Kind, what: What, now: Moment) -> Option<u64> {
        self.send_traced(kind, what, &Trace::default(), now)
    }

    /// The same as a part of a trace.
    fn send_traced(&mut self, kind: Kind, what: What, trace: &Trace, now: Moment) -> Option<u64> {
        Some(self.stream.as_mut()?.send(kind, what, trace, now))
    }

    /// Cancels a command that is in progress.
    fn cancel(&mut self, command_id: u64) {
        if let Some(stream) = self.stream.as_mut() {
            stream.cancel(command_id);
        }
    }

    fn check_silence(&mut self, command: u64) {
        if self.is_unanswered(command) {
            tracing::warn!("the server does not answer");
            self.judge(Verdict::Broken);
        }
    }

    fn check_slow(&mut self, command: u64) {
        if self.is_unanswered(command) {
            self.leave_if_idle();
        }
    }

    fn is_unanswered(&self, command: u64) -> bool {
        self.stream.as_ref().is_some_and(|stream| stream.sent.contains_key(&command))
    }

    /// A broken stream stays broken.
    fn judge(&mut self, verdict: Verdict) {
        if self.verdict != Some(Verdict::Broken) {
            self.verdict = Some(verdict);
        }
    }

    /// Whether a refusal is temporary. If it is this server's alone, the client connects to another one.
    fn is_for_now(&mut self, refusal: &Refusal) -> bool {
        use crate::error::Reason;
        if matches!(refusal.reason, Reason::LeaseLost | Reason::Draining) {
            self.judge(Verdict::Leave);
        }
        refusal.is_transient()
    }

    /// The error of a request whose deadline has passed.
    fn timeout_error(&self, refusal: Option<Refusal>) -> Error {
        refusal.map_or_else(
            || {
                let problem = if self.stream.is_some() { "the server did not answer" } else { &self.problem };
                Error::Unavailable(problem.to_owned())
            },
            Error::from,
        )
    }
}

fn backoff() -> Backoff {
    Backoff::new(FIRST_PAUSE, LONGEST_PAUSE)
}
