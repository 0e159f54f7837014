//! Deciding a batch and making it durable.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tenure_core::{Command, Outcome, Recorded, Rejection, Revision};
use tokio::time::{Instant, sleep_until};

use super::run::Sequencer;
use super::{Attendance, Decided, Reader, Refusal, Reply, Request};
use crate::store::{Batch, StoreError};

/// Between two tries to find out what became of an append: first, and at the most.
const RETRY: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// The most commands in one batch.
const COMMANDS: usize = 4_096;

/// The most that the commands of one batch attach, in bytes: well below what databases take in one statement.
const BYTES: usize = 2 * 1024 * 1024;

/// What to do in one batch.
#[derive(Default)]
pub(super) struct Work {
    commands: Vec<(Command, Option<Reply>)>,
    readers: Vec<Reader>,
    catch_up: bool,
    /// What the commands attach, in bytes.
    bytes: usize,
}

/// How an append ended.
enum Appended {
    Committed,
    /// Another server was first.
    Lost,
    Unavailable(String),
    /// The server stops before it could be found out.
    Unknown,
}

/// What came of a command, and the revision before it.
type Decision = (Result<Outcome, Rejection>, Revision);

fn attached_bytes(command: &Command) -> usize {
    let (metadata, opening) = match command {
        Command::Group(command) => return command.bytes(),
        Command::Acquire { metadata, opening, .. } => (Some(metadata), opening.as_ref()),
        Command::UpdateClaim { metadata, .. } => (Some(metadata), None),
        Command::OpenSession { opening, .. } => (None, Some(opening)),
        _ => (None, None),
    };
    let both = metadata.into_iter().chain(opening.map(|opening| &opening.metadata));
    both.flat_map(|labels| labels.iter()).map(|(key, value)| key.len() + value.len()).sum()
}

impl Work {
    pub(super) fn push(&mut self, request: Request) {
        match request {
            Request::Decide { command, reply } => {
                self.bytes += attached_bytes(&command);
                self.commands.push((command, reply));
            }
            Request::Read(reader) => self.readers.push(reader),
            Request::CatchUp => self.catch_up = true,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.commands.is_empty() && self.readers.is_empty() && !self.catch_up
    }

    /// Whether what is there is enough for one batch: in number, and in what a database takes in one statement.
    pub(super) fn is_full(&self) -> bool {
        self.commands.len() + self.readers.len() >= COMMANDS || self.bytes >= BYTES
    }
}

impl Sequencer {
    /// Carries out a batch: to a commit, or to a refusal of everything in it.
    pub(super) async fn carry_out(&mut self, work: Work) {
        if work.commands.is_empty() && work.readers.is_empty() {
            if let Err(error) = self.catch_up().await {
                tracing::debug!(namespace = %self.replica.name, %error, "cannot follow the log");
            }
            return;
        }
        loop {
            let previous = self.replica.table.revision();
            let mut events = Vec::new();
            let decisions: Vec<Decision> = work
                .commands
                .iter()
                .map(|(command, _)| {
                    let before = self.replica.table.revision();
                    (self.replica.table.decide(command.clone(), &mut events), before)
                })
                .collect();
            if events.is_empty() {
                self.replica.table.commit();
                match self.confirm().await {
                    Ok(()) if self.replica.table.revision() == previous => {
                        let attendances = self.attend(&work, &decisions);
                        return self.answer(work, decisions, attendances);
                    }
                    Ok(()) => continue,
                    Err(error) => return self.refuse(work, &error),
                }
            }
            self.replica.desk.lock().tell_pauses(&mut events);
            let batch = Arc::new(self.batch(previous, events));
            match self.append(&batch).await {
                Appended::Committed => {
                    self.replica.table.commit();
                    let attendances = self.attend(&work, &decisions);
                    self.replica.took(batch);
                    // A session that has just come here brings waits that nobody attends to; these are attended to.
                    for attendance in attendances.iter().flatten() {
                        self.replica.desk.lock().home.attend(attendance.claim());
                    }
                    self.mine = true;
                    return self.answer(work, decisions, attendances);
                }
                Appended::Lost => {
                    self.replica.table.undo();
                    if let Err(error) = self.catch_up().await {
                        return self.refuse(work, &error);
                    }
                }
                Appended::Unavailable(reason) => {
                    self.replica.table.undo();
                    return self.refuse(work, &StoreError::Unavailable(reason));
                }
                Appended::Unknown => {
                    self.replica.table.undo();
                    return self.refuse(work, &StoreError::OutcomeUnknown("stopping".to_owned()));
                }
            }
        }
    }

    /// Makes sure that the table is at the log's head.
    async fn confirm(&mut self) -> Result<(), StoreError> {
        if self.replica.store.exclusive() { Ok(()) } else { self.catch_up().await }
    }

    /// Follows the log to its head; if the database lost history, jumps past all that may have been handed out.
    pub(super) async fn catch_up(&mut self) -> Result<(), StoreError> {
        let before = self.replica.table.revision();
        while let Some(loss) = self.replica.follow().await? {
            let (after, revision) = (loss.after, loss.revision);
            tracing::error!(namespace = %self.replica.name, %after, %revision, "the database may have lost history: the revision jumps");
            let batch = Arc::new(self.batch(after, vec![loss.event()]));
            match self.append(&batch).await {
                Appended::Committed => self.replica.jumped(batch),
                Appended::Lost => {}
                Appended::Unavailable(reason) => return Err(StoreError::Unavailable(reason)),
                Appended::Unknown => return Err(StoreError::Unavailable("stopping".to_owned())),
            }
        }
        if self.replica.table.revision() != before {
            self.mine = false;
        }
        Ok(())
    }

    fn batch(&mut self, previous: Revision, events: Vec<Recorded>) -> Batch {
        self.number += 1;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at_ms = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
        let namespace = self.replica.name.clone();
        Batch { namespace, previous, events, server: self.settings.me, number: self.number, at_ms }
    }

    /// Appends a batch, however often it takes to know what became of it.
    async fn append(&mut self, batch: &Batch) -> Appended {
        let store = self.replica.store.clone();
        let notify = self.settings.others_live.load(std::sync::atomic::Ordering::Relaxed);
        let mut unknown = false;
        let mut pause = RETRY.0;
        loop {
            match store.append(batch, notify).await {
                Ok(()) => return Appended::Committed,
                Err(StoreError::Conflict | StoreError::Compacted(_)) if !unknown => return Appended::Lost,
                Err(StoreError::Conflict | StoreError::Compacted(_)) => {
                    if let Ok(found) = self.is_in_log(batch).await {
                        return if found { Appended::Committed } else { Appended::Lost };
                    }
                }
                Err(StoreError::Unavailable(reason)) if !unknown => return Appended::Unavailable(reason),
                Err(StoreError::Unavailable(reason) | StoreError::OutcomeUnknown(reason)) => {
                    if !unknown {
                        tracing::warn!(namespace = %batch.namespace, reason, "finding out whether a batch was committed");
                    }
                    unknown = true;
                }
            }
            if self.cancel.is_cancelled() {
                return Appended::Unknown;
            }
            self.turn_away_until(Instant::now() + pause).await;
            pause = (pause * 2).min(RETRY.1);
        }
    }

    async fn is_in_log(&self, batch: &Batch) -> Result<bool, StoreError> {
        match self.replica.store.read(&batch.namespace, batch.previous, 1).await {
            Ok(tail) => {
                let first = tail.batches.first();
                Ok(first.is_some_and(|first| first.server == batch.server && first.number == batch.number))
            }
            Err(StoreError::Compacted(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// While the store is away nobody is kept waiting.
    async fn turn_away_until(&mut self, until: Instant) {
        loop {
            tokio::select! {
                () = sleep_until(until) => return,
                () = self.cancel.cancelled() => return,
                request = self.requests.recv() => match request {
                    Some(Request::Decide { command, reply }) => {
                        let refusal = Refusal::Unavailable("it does not answer".to_owned());
                        self.refuse_one(&command, reply, refusal);
                    }
                    Some(Request::Read(reader)) => reader(Err(Refusal::Unavailable("it does not answer".to_owned()))),
                    Some(Request::CatchUp) => {}
                    None => return,
                },
            }
        }
    }

    /// Attends to new claims on behalf of their callers. Before the events are told of: a later command of the same batch may
    /// have granted or ended what an earlier one asked for.
    fn attend(&self, work: &Work, decisions: &[Decision]) -> Vec<Option<Attendance>> {
        let attended = |((command, reply), (outcome, before)): (&(Command, Option<Reply>), &Decision)| {
            if reply.is_none() || !matches!(command, Command::Acquire { .. }) {
                return None;
            }
            match outcome {
                Ok(Outcome::Waiting { claim, .. }) => Some(self.replica.desk.await_grant(claim.id)),
                // A hold from before is known to its holder, unless nobody was there when it was granted.
                Ok(Outcome::Held { claim, .. }) => self.replica.desk.receive(claim.id, claim.token() > Some(*before)),
                _ => None,
            }
        };
        work.commands.iter().zip(decisions).map(attended).collect()
    }

    fn answer(&mut self, work: Work, decisions: Vec<Decision>, attendances: Vec<Option<Attendance>>) {
        let revision = self.replica.table.revision();
        let decided = decisions.into_iter().zip(attendances);
        for ((_, reply), ((outcome, _), attendance)) in work.commands.into_iter().zip(decided) {
            let Some(reply) = reply else { continue };
            let answer = outcome.map_err(Refusal::Rejected);
            // A caller that has gone is noticed by the attendance, which is dropped with the answer.
            let _ = reply.send(answer.map(|outcome| Decided { outcome, revision, attendance }));
        }
        for reader in work.readers {
            reader(Ok(&self.replica.table));
        }
    }

    fn refuse(&mut self, work: Work, error: &StoreError) {
        let refusal = match error {
            StoreError::OutcomeUnknown(_) => Refusal::OutcomeUnknown,
            error => Refusal::Unavailable(error.to_string()),
        };
        for (command, reply) in work.commands {
            self.refuse_one(&command, reply, refusal.clone());
        }
        for reader in work.readers {
            reader(Err(refusal.clone()));
        }
    }

    fn refuse_one(&mut self, command: &Command, reply: Option<Reply>, refusal: Refusal) {
        match reply {
            Some(reply) => {
                // A caller that has gone needs no answer.
                let _ = reply.send(Err(refusal));
            }
            None => self.again(command),
        }
    }
}
