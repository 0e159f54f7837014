//! Decides a batch and makes it durable.

use std::sync::Arc;
use std::time::Duration;

use opentelemetry::Context;
use opentelemetry::trace::FutureExt;
use tenure_core::{Command, Event, Outcome, Recorded, Rejection, Request, Revision, Text};
use tokio::time::{Instant, sleep_until};

use super::clients::note_unknown_failures;
use super::forwarding::{Followers, is_settled, record_pauses};
use super::replica::Loss;
use super::run::{Sequencer, next};
use super::spans;
use super::waiters::{PendingGrant, Registration};
use super::work::{Source, Work};
use super::{CommandResult, Reader};
use crate::limits;
use crate::store::{Batch, Store, StoreError};
use crate::telemetry::wall_clock::now_ms;

/// Delay between attempts to determine the outcome of an append: initial, and maximum.
const RETRY: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// How long a batch committed by another server may be in transit to this one.
const ON_THE_WAY: Duration = Duration::from_millis(50);

/// The result of a command.
pub(super) struct Decision {
    pub(super) outcome: Result<Outcome, Rejection>,
    /// The revision before the command.
    pub(super) before: Revision,
    /// The revision after it, at which the outcome is true. Later commands of the same batch may have changed more.
    pub(super) after: Revision,
}

impl Sequencer {
    /// Carries out a batch: it is committed, or everything in it is rejected.
    pub(super) async fn carry_out(&mut self, mut work: Work) {
        if work.has_no_requests() {
            return self.check_head(work.catch_up).await;
        }
        let mut is_first = true;
        loop {
            match self.forward(work) {
                Some(own) => work = own,
                None => return,
            }
            if std::mem::take(&mut is_first) {
                work = self.take_back_before(work).await;
            }
            if let Err(error) = self.admit(&mut work).await {
                return self.reject(work, error);
            }
            self.drop_stale_due_commands(&mut work);
            work.put_due_first();
            let previous = self.replica.table.revision();
            let mut events = Vec::new();
            let decisions = self.decide_all(&work, &mut events);
            if events.is_empty() {
                self.replica.table.commit();
                if self.forwarder.must_void || work.is_unsettled && !is_settled(&work, &decisions) {
                    match self.void_forwards(&mut work).await {
                        Ok(()) => continue,
                        Err(error) => return self.reject(work, error),
                    }
                }
                match self.confirm().await {
                    Ok(()) if self.replica.table.revision() == previous => {
                        return self.reply_without_events(work, decisions);
                    }
                    Ok(()) => continue,
                    Err(error) => return self.reject(work, error),
                }
            }
            self.replica.local.record_pauses(&mut events);
            record_pauses(&work, &mut events);
            if let Err(error) = self.needs_lease() {
                self.replica.table.undo();
                return self.reject(work, error);
            }
            let batch = Arc::new(self.batch(previous, events));
            let spans = work.requests.iter().map(|(_, source)| source.span());
            let traced = spans::append(spans, &batch);
            let appended = self.append(&batch, &traced).await;
            spans::appended(&traced, &appended);
            drop(traced);
            match appended {
                Ok(()) => {
                    self.replica.table.commit();
                    let (rows, at) = (&mut self.replica.rows, batch.revision());
                    declarers(&work, &decisions).for_each(|client| rows.declared(client, at));
                    let pending = self.replica.committed(batch.clone(), registrations(&work, &decisions));
                    self.forwarder.must_void = false;
                    self.notify_followers(Some(&batch), &mut work);
                    return self.reply(work, decisions, pending);
                }
                Err(StoreError::Conflict) => {
                    self.replica.table.undo();
                    if let Err(error) = self.catch_up().await {
                        return self.reject(work, error);
                    }
                }
                Err(error) => {
                    self.replica.table.undo();
                    return self.reject(work, error);
                }
            }
        }
    }

    /// Ensures that the table is at the log's head. Without a lease that cannot be known: another database may have
    /// replaced one that still serves reads.
    async fn confirm(&mut self) -> Result<(), StoreError> {
        if self.replica.store.exclusive() {
            return Ok(());
        }
        self.catch_up().await?;
        self.needs_lease()
    }

    /// A server whose lease lapsed must reject requests received before the lapse; their callers have already failed
    /// over.
    fn needs_lease(&self) -> Result<(), StoreError> {
        match self.settings.lease.tick() {
            Some(_) => Ok(()),
            None => Err(StoreError::Unavailable("it has not accepted this server's heartbeats for a lease".to_owned())),
        }
    }

    /// Follows the log to its head; if the database lost history, jumps past every revision that may have been handed
    /// out.
    pub(super) async fn catch_up(&mut self) -> Result<(), StoreError> {
        let before = self.replica.table.revision();
        while let Some(loss) = self.replica.follow().await? {
            let batch = Arc::new(self.jump(loss));
            match self.append_counted(&batch, &Context::new()).await {
                Ok(()) => {
                    self.replica.apply(batch);
                    self.replica.local.lock().close_streams();
                }
                Err(StoreError::Conflict) => {}
                // No command was appended, whatever became of the jump.
                Err(StoreError::OutcomeUnknown(reason)) => return Err(StoreError::Unavailable(reason)),
                Err(error) => return Err(error),
            }
        }
        self.replica.local.lock().caught_up(&self.replica.table);
        if self.replica.table.revision() != before {
            self.forwarder.alone = 0;
        }
        Ok(())
    }

    /// Like [`Self::catch_up`], when no request waits for that.
    pub(super) async fn try_catch_up(&mut self) {
        if let Err(error) = self.catch_up().await {
            tracing::debug!(namespace = %self.replica.name, %error, "cannot follow the log");
        }
    }

    fn jump(&mut self, Loss { after, revision }: Loss) -> Batch {
        tracing::error!(namespace = %self.replica.name, %after, %revision, "the database may have lost history: the revision jumps");
        self.batch(after, vec![Recorded { revision, event: Event::HistoryLost { after } }])
    }

    /// Drops due commands that are no longer due after what other servers have committed.
    fn drop_stale_due_commands(&self, work: &mut Work) {
        if !work.requests.iter().any(|(_, source)| matches!(source, Source::Home)) {
            return;
        }
        let local = self.replica.local.lock();
        work.requests
            .retain(|(request, source)| !matches!(source, Source::Home) || local.home.is_still_due(&request.command));
    }

    /// Decides all commands of the work, each after the previous one.
    pub(super) fn decide_all(&mut self, work: &Work, events: &mut Vec<Recorded>) -> Vec<Decision> {
        let table = &mut self.replica.table;
        let decide = |(request, _): &(Request, Source)| {
            let before = table.revision();
            let outcome = table.decide(request.clone(), events);
            Decision { outcome, before, after: table.revision() }
        };
        work.requests.iter().map(decide).collect()
    }

    /// Makes forwards void when this work has nothing else to append. After a conflict, they are not void yet.
    async fn void_forwards(&mut self, work: &mut Work) -> Result<(), StoreError> {
        let previous = self.revision();
        let event = Event::ForwardsVoided { by: self.settings.me };
        let batch = Arc::new(self.batch(previous, vec![Recorded { revision: previous.next(), event }]));
        match self.append(&batch, &Context::new()).await {
            Ok(()) => {
                self.replica.apply(batch.clone());
                (self.forwarder.must_void, work.is_unsettled) = (false, false);
                self.notify_followers(Some(&batch), &mut Work::default());
                Ok(())
            }
            Err(StoreError::Conflict) => self.catch_up().await,
            Err(error) => Err(error),
        }
    }

    /// Handles a notice that another server may have appended up to this head. If that server sends what it commits,
    /// the batch is in transit, and the store is read only if it does not arrive.
    async fn check_head(&mut self, head: Option<Revision>) {
        let (revision, now) = (self.replica.table.revision(), Instant::now());
        if head == Some(revision) {
            return;
        }
        if let Some(head) = head.filter(|head| *head > revision && self.is_notified()) {
            let (announced, since) = *self.announced.get_or_insert((head, now));
            if announced <= revision {
                self.announced = Some((head, now));
                return;
            }
            if now < since + ON_THE_WAY {
                return;
            }
        }
        self.announced = None;
        self.try_catch_up().await;
    }

    /// Fails what is in flight without waiting for it, because this server stops.
    pub(super) fn reject_in_flight(&mut self) {
        self.forwarder.take_back();
        if let Some(work) = self.forwarder.returned.take() {
            self.reject(work, StoreError::OutcomeUnknown("stopping".to_owned()));
        }
    }

    fn batch(&mut self, previous: Revision, events: Vec<Recorded>) -> Batch {
        self.number += 1;
        let namespace = self.replica.name.clone();
        Batch { namespace, previous, events, server: self.settings.me, number: self.number, at_ms: now_ms() }
    }

    /// Appends a batch. If the whole namespace may have been lost, the first batch is preceded by a jump, and must be
    /// decided again.
    async fn append(&mut self, batch: &Batch, traced: &Context) -> Result<(), StoreError> {
        let Some(loss) = self.replica.lost_whole.take_if(|_| batch.previous == Revision(0)) else {
            return self.append_counted(batch, traced).await;
        };
        let jump = self.jump(loss);
        self.append_counted(&jump, &Context::new()).await.and(Err(StoreError::Conflict))
    }

    /// Appends a batch, and counts the result.
    async fn append_counted(&mut self, batch: &Batch, traced: &Context) -> Result<(), StoreError> {
        let begun = Instant::now();
        let appended = self.append_until_known(batch, traced).await;
        match &appended {
            Ok(()) => self.settings.counts.appended(batch.events.len(), begun.elapsed()),
            Err(StoreError::Conflict) => {
                self.settings.counts.append_conflicts.inc();
            }
            Err(_) => {}
        }
        appended
    }

    /// Appends a batch as a part of this span, and retries until the outcome is known. `Conflict`: another server
    /// appended first. `OutcomeUnknown`: this server stops before the outcome is known, or that part of the log is gone.
    async fn append_until_known(&mut self, batch: &Batch, traced: &Context) -> Result<(), StoreError> {
        let store = self.replica.store.clone();
        let notify = !self.settings.membership.all(|server| self.forwarder.followers.contains(server));
        let mut unknown = false;
        let mut pause = RETRY.0;
        loop {
            match store.append(batch, notify).with_context(traced.clone()).await {
                Ok(()) => return Ok(()),
                Err(StoreError::Conflict | StoreError::Compacted(_)) if !unknown => return Err(StoreError::Conflict),
                Err(StoreError::Conflict | StoreError::Compacted(_)) => match is_in_log(&*store, batch).await {
                    Ok(true) => return Ok(()),
                    Ok(false) => return Err(StoreError::Conflict),
                    Err(StoreError::Compacted(_)) => return Err(StoreError::OutcomeUnknown("history gone".to_owned())),
                    Err(_) => {}
                },
                Err(error @ StoreError::Unavailable(_)) if !unknown => return Err(error),
                Err(StoreError::Unavailable(reason) | StoreError::OutcomeUnknown(reason)) => {
                    if !unknown {
                        tracing::warn!(namespace = %batch.namespace, reason, "checking whether a batch was committed");
                    }
                    unknown = true;
                    // Followers need not wait for the outcome.
                    self.forwarder.followers = Followers::default();
                }
            }
            if self.settings.cancel.is_cancelled() {
                return Err(StoreError::OutcomeUnknown("stopping".to_owned()));
            }
            self.reject_requests_until(Instant::now() + pause).await;
            pause = (pause * 2).min(RETRY.1);
        }
    }

    /// Rejects requests while the store is unavailable, so that no caller waits.
    async fn reject_requests_until(&mut self, until: Instant) {
        loop {
            tokio::select! {
                () = sleep_until(until) => return,
                () = self.settings.cancel.cancelled() => return,
                request = next(&mut self.urgent, &mut self.requests) => match request {
                    Some(request) => self.reject_request(request, &Rejection::Unavailable("no reply".to_owned())),
                    None => return,
                },
            }
        }
    }

    /// Replies to the callers of a batch without events.
    pub(super) fn reply_without_events(&mut self, work: Work, decisions: Vec<Decision>) {
        let pending = self.replica.local.commit(registrations(&work, &decisions), &[], &self.replica.table);
        self.reply(work, decisions, pending);
    }

    pub(super) fn reply(&mut self, mut work: Work, decisions: Vec<Decision>, pending: Vec<Option<PendingGrant>>) {
        if !work.forwards.is_empty() {
            self.notify_followers(None, &mut work);
        }
        let Work { requests, readers, mut replies, forwarded_after, .. } = work;
        let decided = decisions.into_iter().zip(pending);
        for ((request, source), (mut decision, pending)) in requests.into_iter().zip(decided) {
            note_unknown_failures(&request.command, forwarded_after.is_some(), &mut decision);
            let result = |outcome| CommandResult { outcome, revision: decision.after, pending };
            replies.reply(source, decision.outcome.map(result));
        }
        replies.send();
        self.read(readers);
    }

    /// Runs readers on the table, at least one, for as long as decisions may be delayed. The others run after the next
    /// batch.
    fn read(&mut self, readers: Vec<Reader>) {
        let until = Instant::now() + limits::READING;
        let mut readers = readers.into_iter();
        for reader in readers.by_ref() {
            reader(Ok(&self.replica.view()));
            if Instant::now() >= until {
                break;
            }
        }
        self.readers.extend(readers);
    }

    /// Sends followers what this server has committed, and the results of what they forwarded.
    fn notify_followers(&mut self, batch: Option<&Arc<Batch>>, work: &mut Work) {
        let (at, rows, forwards) = (self.revision(), self.replica.rows.up_to(), std::mem::take(&mut work.forwards));
        self.forwarder.followers.notify(batch, &forwards, work.requests.len(), at, rows);
    }

    fn reject(&mut self, mut work: Work, error: StoreError) {
        // The server that it was forwarded to may have decided it.
        let is_unknown = work.forwarded_after.is_some();
        let rejection = if is_unknown { Rejection::OutcomeUnknown } else { error.into() };
        self.forwarder.must_void |= work.is_unsettled;
        work.forwards.iter_mut().for_each(|forward| self.forwarder.followers.reject(forward));
        self.notify_followers(None, &mut work);
        let Work { requests, readers, mut replies, .. } = work;
        for (request, source) in requests {
            match source {
                Source::Home => self.retry(&request.command),
                source => replies.reply(source, Err(rejection.clone())),
            }
        }
        replies.send();
        for reader in readers {
            reader(Err(rejection.clone()));
        }
    }
}

/// The callers to register for the claims of their Acquires.
pub(super) fn registrations(work: &Work, decisions: &[Decision]) -> impl Iterator<Item = Option<Registration>> {
    work.requests.iter().zip(decisions).map(|((request, source), decision)| {
        if !source.is_caller() || !matches!(request.command, Command::Acquire { .. }) {
            return None;
        }
        match &decision.outcome {
            Ok(Outcome::Waiting { claim, .. }) => Some(Registration::Waiting(claim.id)),
            // The client knows an earlier hold, unless no call was present when it was granted. For what another server
            // has decided for a plain call, the registry knows whether that is so.
            Ok(Outcome::Held { claim, .. }) => {
                let forwarded_after = work.forwarded_after.filter(|_| claim.spec.waiting_server.is_none());
                let before = forwarded_after.map_or(decision.before, |after| after.min(decision.before));
                Some(Registration::Granted { claim: claim.id, is_new: claim.token() > Some(before) })
            }
            _ => None,
        }
    })
}

/// The clients that may have used numbers. Events do not show them once a session has ended.
fn declarers<'w>(work: &'w Work, decisions: &[Decision]) -> impl Iterator<Item = &'w Text> {
    let accepted = work.requests.iter().zip(decisions).filter(|(_, decision)| decision.outcome.is_ok());
    accepted.filter_map(|((request, _), _)| match &request.command {
        Command::Change { client, .. } => Some(client),
        _ => None,
    })
}

/// Whether this batch is in the log.
async fn is_in_log(store: &dyn Store, batch: &Batch) -> Result<bool, StoreError> {
    let tail = store.read(&batch.namespace, batch.previous, 1).await?;
    let first = tail.batches.first();
    Ok(first.is_some_and(|first| first.server == batch.server && first.number == batch.number))
}
