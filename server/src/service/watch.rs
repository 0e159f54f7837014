//! Watch: a snapshot, then what happens, at each watcher's own pace.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{
    Claim, ClaimSpec, ClaimState, EndReason, Event, Eviction, LockSettings, Recorded, Revision, Table, Text, Transfer,
};
use tenure_proto::v1;
use tenure_proto::v1::watch_response::Kind;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::problem::Problem;
use super::{Api, bounds, convert, in_time};
use crate::sequencer::{Namespace, Refusal};
use crate::store::{Batch, StoreError};

/// An idle stream says this often how far it has come.
const PROGRESS: Duration = Duration::from_secs(10);

/// How many locks of a snapshot go into one message.
const SNAPSHOT: usize = 500;

/// How many events are read from history at a time.
const HISTORY: usize = 1_000;

/// A read of history that failed is tried again after this.
const RETRY: Duration = Duration::from_millis(200);

/// Which locks are watched.
#[derive(Clone)]
struct Filter {
    names: BTreeSet<String>,
    prefixes: Vec<String>,
}

/// One watch.
pub(super) struct Watch {
    namespace: Namespace,
    filter: Filter,
    cursor: Revision,
    snapshot_first: bool,
}

/// The reader of the stream has gone.
struct Gone;

impl Filter {
    fn new(names: Vec<String>, mut prefixes: Vec<String>) -> Self {
        if names.is_empty() && prefixes.is_empty() {
            prefixes.push(String::new());
        }
        Self { names: names.into_iter().collect(), prefixes }
    }

    fn matches(&self, name: &str) -> bool {
        self.names.contains(name) || self.prefixes.iter().any(|prefix| name.starts_with(prefix.as_str()))
    }

    fn snapshot(&self, table: &Table) -> Vec<v1::Lock> {
        let mut names: BTreeSet<&str> = self.names.iter().map(String::as_str).collect();
        for prefix in &self.prefixes {
            names.extend(table.locks_after(prefix, None).map(|(name, _)| &**name));
        }
        names.into_iter().map(|name| convert::lock(name, table.lock(name), table)).collect()
    }
}

impl Api {
    /// Begins a watch: refuses it, or makes sure that it can run.
    pub(super) async fn watch(&self, request: v1::WatchRequest) -> Result<Watch, Problem> {
        bounds::watched(&request.names, &request.prefixes)?;
        let namespace = self.namespace(&request.namespace).await?;
        let head = in_time(async { Ok(namespace.read(Table::revision).await?) }).await?;
        if request.after_revision > head.0 {
            let bound = format!("at most {head}, the namespace's revision, not {}", request.after_revision);
            return Err(Problem::field("after_revision", bound));
        }
        Ok(Watch {
            namespace,
            filter: Filter::new(request.names, request.prefixes),
            cursor: Revision(request.after_revision),
            snapshot_first: request.after_revision == 0,
        })
    }
}

impl Watch {
    /// Tells everything to `told`, until its reader goes. A reader that is slow only keeps this watch waiting.
    pub(super) async fn run(mut self, told: mpsc::Sender<v1::WatchResponse>) {
        // Ends when the reader has gone: there is nobody to tell.
        let _ = self.tell(&told).await;
    }

    async fn tell(&mut self, told: &mpsc::Sender<v1::WatchResponse>) -> Result<(), Gone> {
        if self.snapshot_first {
            self.tell_snapshot(told).await?;
        }
        let mut head = self.namespace.hub().head();
        let mut progress_at = Instant::now() + PROGRESS;
        loop {
            head.mark_unchanged();
            let told_up_to = self.cursor;
            self.tell_events(told, &mut progress_at).await?;
            if self.cursor > told_up_to {
                continue;
            }
            tokio::select! {
                changed = head.changed() => changed.map_err(|_| Gone)?,
                () = told.closed() => return Err(Gone),
                () = self.namespace.ended() => return Err(Gone),
                () = sleep_until(progress_at) => {
                    self.send(told, Kind::Progress(v1::Progress {})).await?;
                    progress_at = Instant::now() + PROGRESS;
                }
            }
        }
    }

    /// Tells what is there after the cursor, from memory or else from history.
    async fn tell_events(
        &mut self,
        told: &mpsc::Sender<v1::WatchResponse>,
        progress_at: &mut Instant,
    ) -> Result<(), Gone> {
        let batches = match self.namespace.hub().after(self.cursor) {
            Some(batches) => batches,
            None => match self.namespace.store().read(self.namespace.name(), self.cursor, HISTORY).await {
                Ok(tail) => tail.batches,
                Err(StoreError::Compacted(_)) => {
                    self.tell_gone(told, v1::HistoryGoneCause::Compacted).await?;
                    Vec::new()
                }
                Err(error) => {
                    tracing::debug!(%error, "a watch cannot read history");
                    tokio::time::sleep(RETRY).await;
                    return Ok(());
                }
            },
        };
        for batch in batches {
            if batch.events.iter().any(|recorded| matches!(recorded.event, Event::HistoryLost { .. })) {
                return self.tell_gone(told, v1::HistoryGoneCause::Lost).await;
            }
            let events = self.events_of(&batch);
            self.cursor = batch.revision();
            if !events.is_empty() {
                self.send(told, Kind::Events(v1::Events { events })).await?;
                *progress_at = Instant::now() + PROGRESS;
            }
        }
        Ok(())
    }

    async fn tell_gone(
        &mut self,
        told: &mpsc::Sender<v1::WatchResponse>,
        cause: v1::HistoryGoneCause,
    ) -> Result<(), Gone> {
        self.send(told, Kind::HistoryGone(v1::HistoryGone { cause: cause.into() })).await?;
        self.tell_snapshot(told).await
    }

    async fn tell_snapshot(&mut self, told: &mpsc::Sender<v1::WatchResponse>) -> Result<(), Gone> {
        let (mut locks, revision) = loop {
            let filter = self.filter.clone();
            let read = self.namespace.read(move |table| (filter.snapshot(table), table.revision()));
            match read.await {
                Ok(snapshot) => break snapshot,
                Err(Refusal::Draining) => return Err(Gone),
                Err(error) => {
                    tracing::debug!(%error, "a watch cannot read a snapshot");
                    tokio::select! {
                        () = told.closed() => return Err(Gone),
                        () = tokio::time::sleep(RETRY) => {}
                    }
                }
            }
        };
        self.cursor = revision;
        loop {
            let rest = locks.split_off(locks.len().min(SNAPSHOT));
            let more = !rest.is_empty();
            self.send(told, Kind::Snapshot(v1::Snapshot { locks, more })).await?;
            if !more {
                return Ok(());
            }
            locks = rest;
        }
    }

    async fn send(&self, told: &mpsc::Sender<v1::WatchResponse>, kind: Kind) -> Result<(), Gone> {
        let response = v1::WatchResponse { revision: self.cursor.0, kind: Some(kind) };
        told.send(response).await.map_err(|_| Gone)
    }

    /// The events of a batch, after the cursor, that are watched.
    fn events_of(&self, batch: &Batch) -> Vec<v1::Event> {
        let later = |recorded: &&Recorded| recorded.revision > self.cursor;
        batch.events.iter().filter(later).flat_map(|recorded| self.lock_events(recorded, batch)).collect()
    }

    /// What an event means for each watched lock.
    fn lock_events(&self, recorded: &Recorded, batch: &Batch) -> Vec<v1::Event> {
        let revision = recorded.revision;
        let held = |claim: &Revision, token: &Revision, spec: &Arc<ClaimSpec>| {
            Claim::new(*claim, spec.clone(), ClaimState::Held { token: *token })
        };
        let mut event = LockEvent::default();
        match &recorded.event {
            Event::ClaimQueued(spec) => {
                event.kind = v1::EventType::Queued;
                event.claim = Some(Claim::new(revision, spec.clone(), ClaimState::Waiting));
            }
            Event::ClaimGranted { claim, spec } => {
                event.kind = v1::EventType::Granted;
                event.claim = Some(held(claim, &revision, spec));
            }
            Event::ClaimLingering { claim, token, spec, reason, home, still_held, .. } => {
                event.still_held = still_held;
                event.kind = v1::EventType::Lingering;
                let state = ClaimState::Lingering { token: *token, home: *home };
                event.claim = Some(Claim::new(*claim, spec.clone(), state));
                event.reason = Some(*reason);
            }
            Event::ClaimEnded { claim, token, spec, reason, eviction, still_held, .. } => {
                event.still_held = still_held;
                event.kind = v1::EventType::Ended;
                let state = token.map_or(ClaimState::Waiting, |token| ClaimState::Held { token });
                event.claim = Some(Claim::new(*claim, spec.clone(), state));
                event.reason = Some(*reason);
                event.by = eviction.as_ref();
            }
            Event::ClaimUpdated { claim, token, spec } => {
                event.kind = v1::EventType::Updated;
                event.claim = Some(held(claim, token, spec));
            }
            Event::TransferStarted { claim, token, spec, to, drain, by } => {
                event.kind = v1::EventType::TransferStarted;
                let transfer = Some(Transfer { to: *to, started: revision, drain: *drain });
                event.claim = Some(Claim { transfer, ..held(claim, token, spec) });
                event.by = by.as_ref();
            }
            Event::TransferCancelled { claim, token, spec } => {
                event.kind = v1::EventType::TransferCancelled;
                event.claim = Some(held(claim, token, spec));
            }
            Event::ClaimTransferred { from, from_token, from_spec, still_held, claim, spec, .. } => {
                let (from, to) = (held(from, from_token, from_spec), held(claim, &revision, spec));
                return self.transfer_events(revision, &from, &to, still_held, batch);
            }
            Event::LockConfigured { name, settings, by } => {
                event.kind = v1::EventType::Configured;
                event.by = Some(by);
                event.settings = Some(settings).filter(|settings| !settings.is_default());
                return self.tell_of(name, revision, &event, batch).into_iter().collect();
            }
            Event::SessionOpened(_)
            | Event::SessionAttached { .. }
            | Event::SessionEnded { .. }
            | Event::ServerAdopted { .. }
            | Event::HistoryLost { .. } => return Vec::new(),
        }
        let names = event.claim.as_ref().map(|claim| claim.spec.names.clone()).unwrap_or_default();
        names.iter().filter_map(|name| self.tell_of(name, revision, &event, batch)).collect()
    }

    /// A handoff, for each watched lock: of one that both claims are about it is one event.
    fn transfer_events(
        &self,
        revision: Revision,
        from: &Claim,
        to: &Claim,
        still_held: &[Text],
        batch: &Batch,
    ) -> Vec<v1::Event> {
        let reason = Some(EndReason::Transferred);
        let names: BTreeSet<&Text> = from.spec.names.iter().chain(&to.spec.names).collect();
        let event_of = |name: &Text| match (from.spec.names.contains(name), to.spec.names.contains(name)) {
            (true, true) => {
                let (claim, previous) = (Some(to.clone()), Some(from.clone()));
                LockEvent { kind: v1::EventType::Transferred, claim, previous, reason, ..LockEvent::default() }
            }
            (true, false) => LockEvent {
                kind: v1::EventType::Ended,
                claim: Some(from.clone()),
                reason,
                still_held,
                ..LockEvent::default()
            },
            _ => LockEvent { kind: v1::EventType::Granted, claim: Some(to.clone()), ..LockEvent::default() },
        };
        names.into_iter().filter_map(|name| self.tell_of(name, revision, &event_of(name), batch)).collect()
    }

    /// An event as it is told of one lock, if that is watched.
    fn tell_of(&self, name: &Text, revision: Revision, event: &LockEvent<'_>, batch: &Batch) -> Option<v1::Event> {
        if !self.filter.matches(name) {
            return None;
        }
        let ended = matches!(event.kind, v1::EventType::Ended | v1::EventType::Lingering);
        let over = ended && event.claim.as_ref().is_some_and(|claim| claim.token().is_some());
        Some(v1::Event {
            revision: revision.0,
            name: name.to_string(),
            r#type: event.kind.into(),
            claim: event.claim.as_ref().map(convert::claim),
            end_reason: event.reason.map_or(v1::EndReason::Unspecified, convert::end_reason).into(),
            operator: event.by.map(|by| by.operator.to_string()).unwrap_or_default(),
            note: event.by.map(|by| by.note.to_string()).unwrap_or_default(),
            vacant: over && !event.still_held.contains(name) && !held_after(name, revision, batch),
            time: Some(convert::timestamp(batch.at_ms)),
            previous: event.previous.as_ref().map(convert::claim),
            settings: event.settings.map(convert::settings),
        })
    }
}

/// What happened, in the words of the core.
#[derive(Default)]
struct LockEvent<'a> {
    kind: v1::EventType,
    claim: Option<Claim>,
    previous: Option<Claim>,
    reason: Option<EndReason>,
    by: Option<&'a Eviction>,
    settings: Option<&'a LockSettings>,
    still_held: &'a [Text],
}

/// Whether the rest of the batch grants the lock to somebody.
fn held_after(name: &str, after: Revision, batch: &Batch) -> bool {
    batch.events.iter().filter(|recorded| recorded.revision > after).any(|recorded| match &recorded.event {
        Event::ClaimGranted { spec, .. } | Event::ClaimTransferred { spec, .. } => {
            spec.names.iter().any(|granted| &**granted == name)
        }
        _ => false,
    })
}
