//! Watch: a snapshot, then what happens, at each watcher's own pace.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{
    Claim, ClaimSpec, ClaimState, EndReason, Event, Eviction, Group, LockSettings, Recorded, Revision, Table, Text,
    Transfer,
};
use tenure_proto::v1;
use tenure_proto::v1::watch_response::Kind;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::problem::Problem;
use super::{Api, bounds, convert, in_time, watch_groups};
use crate::hub::Since;
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

/// Which locks and groups are watched.
#[derive(Clone)]
struct Filter {
    names: BTreeSet<String>,
    prefixes: Vec<String>,
    groups: BTreeSet<String>,
}

/// One watch.
pub(super) struct Watch {
    namespace: Namespace,
    filter: Filter,
    cursor: Revision,
    snapshot_first: bool,
    /// Groups that have changed since the reader was told how they are.
    owed: BTreeSet<String>,
}

/// The reader of the stream has gone.
struct Gone;

impl Filter {
    fn new(request: v1::WatchRequest) -> Self {
        let v1::WatchRequest { names, mut prefixes, groups, .. } = request;
        if names.is_empty() && prefixes.is_empty() && groups.is_empty() {
            prefixes.push(String::new());
        }
        Self { names: names.into_iter().collect(), prefixes, groups: groups.into_iter().collect() }
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

    fn groups_of(&self, table: &Table) -> Vec<v1::Group> {
        self.groups.iter().map(|name| convert::group(name, table.group(name).map(|group| &**group))).collect()
    }
}

impl Api {
    /// Begins a watch: refuses it, or makes sure that it can run.
    pub(super) async fn watch(&self, request: v1::WatchRequest) -> Result<Watch, Problem> {
        bounds::watched(&request)?;
        let namespace = self.namespace(&request.namespace).await?;
        let head = in_time(async { Ok(namespace.read(Table::revision).await?) }).await?;
        if request.after_revision > head.0 {
            let bound = format!("at most {head}, the namespace's revision, not {}", request.after_revision);
            return Err(Problem::field("after_revision", bound));
        }
        let cursor = Revision(request.after_revision);
        let filter = Filter::new(request);
        // Who resumes knows what happened up to there, but not necessarily how the groups were.
        let owed = filter.groups.clone();
        Ok(Watch { namespace, filter, cursor, snapshot_first: cursor == Revision(0), owed })
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
        let since = match self.namespace.hub().after(self.cursor, &self.filter.groups) {
            Some(since) => since,
            None => match self.namespace.store().read(self.namespace.name(), self.cursor, HISTORY).await {
                // How the groups were after these is not known here: that is told when the reader has caught up.
                Ok(tail) => Since { batches: tail.batches, ..Since::default() },
                Err(StoreError::Compacted(_)) => return self.tell_gone(told, v1::HistoryGoneCause::Compacted).await,
                Err(error) => {
                    tracing::debug!(%error, "a watch cannot read history");
                    tokio::time::sleep(RETRY).await;
                    return Ok(());
                }
            },
        };
        let mut last = watch_groups::last_changes(&since.batches);
        for batch in since.batches {
            if batch.events.iter().any(|recorded| matches!(recorded.event, Event::HistoryLost { .. })) {
                return self.tell_gone(told, v1::HistoryGoneCause::Lost).await;
            }
            let events = self.events_of(&batch);
            let group_events = watch_groups::events(&batch, self.cursor, &self.filter.groups);
            self.owed.extend(group_events.iter().map(|event| event.group.clone()));
            self.cursor = batch.revision();
            let groups = last.remove(&self.cursor).unwrap_or_default();
            let groups = self.take_owed(&since.groups, |name| groups.contains(name));
            if !events.is_empty() || !group_events.is_empty() {
                self.send_events(told, events, group_events, groups).await?;
                *progress_at = Instant::now() + PROGRESS;
            }
        }
        let groups = self.take_owed(&since.groups, |_| true);
        if !groups.is_empty() {
            self.send_events(told, Vec::new(), Vec::new(), groups).await?;
            *progress_at = Instant::now() + PROGRESS;
        }
        Ok(())
    }

    /// Those of the groups that the reader has yet to be told of, if it is known how they are.
    fn take_owed(
        &mut self,
        known: &BTreeMap<String, Option<Arc<Group>>>,
        wanted: impl Fn(&str) -> bool,
    ) -> Vec<v1::Group> {
        let mut groups = Vec::new();
        self.owed.retain(|name| match known.get(name).filter(|_| wanted(name)) {
            Some(group) => {
                groups.push(convert::group(name, group.as_deref()));
                false
            }
            None => true,
        });
        groups
    }

    async fn send_events(
        &self,
        told: &mpsc::Sender<v1::WatchResponse>,
        events: Vec<v1::Event>,
        group_events: Vec<v1::GroupEvent>,
        groups: Vec<v1::Group>,
    ) -> Result<(), Gone> {
        let mut parts = watch_groups::parts(groups).into_iter();
        let groups = parts.next().unwrap_or_default();
        self.send(told, Kind::Events(v1::Events { events, groups, group_events })).await?;
        for groups in parts {
            self.send(told, Kind::Events(v1::Events { groups, ..v1::Events::default() })).await?;
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
        let (locks, groups, revision) = loop {
            let filter = self.filter.clone();
            let read =
                self.namespace.read(move |table| (filter.snapshot(table), filter.groups_of(table), table.revision()));
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
        self.owed.clear();
        let mut parts: Vec<v1::Snapshot> = locks
            .chunks(SNAPSHOT)
            .map(|locks| v1::Snapshot { locks: locks.to_vec(), ..v1::Snapshot::default() })
            .chain(
                watch_groups::parts(groups)
                    .into_iter()
                    .map(|groups| v1::Snapshot { groups, ..v1::Snapshot::default() }),
            )
            .collect();
        let last = parts.pop().unwrap_or_default();
        for part in parts {
            self.send(told, Kind::Snapshot(v1::Snapshot { more: true, ..part })).await?;
        }
        self.send(told, Kind::Snapshot(last)).await
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
            Event::TransferStarted { claim, token, spec, to, to_session, drain, by } => {
                event.to_session = to_session.as_ref();
                event.kind = v1::EventType::TransferStarted;
                let transfer = Some(Box::new(Transfer { to: *to, started: revision, drain: *drain }));
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
            | Event::Group { .. }
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
            claim: event.claim.as_ref().map(|claim| event.convert(claim)),
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
    /// To whom the hold is to be handed over.
    to_session: Option<&'a Text>,
}

impl LockEvent<'_> {
    fn convert(&self, claim: &Claim) -> v1::Claim {
        let mut converted = convert::claim(claim);
        if let (Some(transfer), Some(to)) = (&mut converted.transfer, self.to_session) {
            transfer.to_session_id = to.to_string();
        }
        converted
    }
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
