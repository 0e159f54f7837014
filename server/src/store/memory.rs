//! A store in memory, shared by any number of servers of one process, with controls to simulate the failures of a
//! database. It is meant for tests: nothing is persisted.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tenure_core::{Claim, Revision, ServerId, Text};
use tokio::sync::{broadcast, watch};
use tokio::task::yield_now;

use super::codec::encode_events;
use super::{
    Batch, FIRST_HEARTBEAT, Found, Head, Measured, Older, RowChanges, Rows, ServerRecord, Store, StoreError, Tail,
};
use crate::telemetry::wall_clock::now_ms;

/// The outcome of an append instead of the normal one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The batch is not committed, and the caller learns so.
    Unavailable,
    /// The batch is committed, but the caller receives `OutcomeUnknown`. A conflict is reported as such.
    OutcomeUnknown,
    /// The batch is not committed, and the caller receives `OutcomeUnknown`.
    OutcomeUnknownAndLost,
    /// The batch is committed if it does not conflict, and the caller's task panics.
    Panic,
}

/// A database in memory. Clones share the same database.
#[derive(Clone)]
pub struct MemoryDatabase {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// The server of each append that other servers are notified of.
    appended: broadcast::Sender<ServerId>,
    gate: watch::Sender<Gate>,
}

#[derive(Default)]
struct State {
    /// 0 before the first failover: with any other identity, namespaces do not begin at 1.
    identity: u64,
    unavailable: bool,
    search_delay: Duration,
    load_delay: Duration,
    heartbeat_delay: Duration,
    clock_ms: Option<i64>,
    faults: VecDeque<Fault>,
    /// The number of log reads that succeed before one fails.
    reads_until_failure: Option<u32>,
    namespaces: BTreeMap<Text, Namespace>,
    servers: BTreeMap<ServerId, ServerRecord>,
}

#[derive(Default)]
struct Namespace {
    identity: u64,
    revision: Revision,
    trimmed: Revision,
    log: VecDeque<Arc<Batch>>,
    rows: Rows,
    /// The changes that produced the rows, so that earlier rows can be restored.
    saved: Vec<RowChanges>,
}

#[derive(Default)]
struct Gate {
    holds: usize,
    waiting: usize,
}

/// Blocks appends that arrive, before they are decided, for as long as it exists.
pub struct Hold {
    shared: Arc<Shared>,
}

impl Hold {
    /// Returns when an append is waiting.
    pub async fn reached(&self) {
        // The sender lives in `self`, so the wait ends only with the condition.
        let _ = self.shared.gate.subscribe().wait_for(|gate| gate.waiting > 0).await;
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.shared.gate.send_modify(|gate| gate.holds -= 1);
    }
}

/// An append that waits at the gate, until dropped.
struct Waiting<'a>(&'a Shared);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.gate.send_modify(|gate| gate.waiting -= 1);
    }
}

impl Default for MemoryDatabase {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryDatabase {
    /// An empty database.
    #[must_use]
    pub fn new() -> Self {
        let shared = Shared {
            state: Mutex::default(),
            appended: broadcast::Sender::new(64),
            gate: watch::Sender::new(Gate::default()),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Creates a store for one more server on this database.
    #[must_use]
    pub fn server(&self) -> Arc<MemoryStore> {
        Arc::new(MemoryStore {
            shared: self.shared.clone(),
            connected: AtomicBool::new(true),
            own: AtomicU64::new(0),
            hints: tokio::sync::Mutex::new(self.shared.appended.subscribe()),
        })
    }

    /// Makes the next append that has no fault yet fail, on any server.
    pub fn fail_next(&self, fault: Fault) {
        self.shared.state().faults.push_back(fault);
    }

    /// Makes one read of the log fail, after `others` reads that succeed.
    pub fn fail_read_after(&self, others: u32) {
        self.shared.state().reads_until_failure = Some(others);
    }

    /// Makes the database unavailable to all servers, or available again.
    pub fn set_available(&self, available: bool) {
        self.shared.state().unavailable = !available;
    }

    /// Delays each search by `delay`.
    pub fn set_search_delay(&self, delay: Duration) {
        self.shared.state().search_delay = delay;
    }

    /// Delays each load by `delay`.
    pub fn set_load_delay(&self, delay: Duration) {
        self.shared.state().load_delay = delay;
    }

    /// Delays each heartbeat by `delay` before it is committed.
    pub fn set_heartbeat_delay(&self, delay: Duration) {
        self.shared.state().heartbeat_delay = delay;
    }

    /// Makes appends wait until the returned [`Hold`] is dropped.
    #[must_use]
    pub fn hold_appends(&self) -> Hold {
        self.shared.gate.send_modify(|gate| gate.holds += 1);
        Hold { shared: self.shared.clone() }
    }

    /// Sets the database's clock, in ms since 1970, and stops it.
    pub fn set_clock_ms(&self, clock_ms: i64) {
        self.shared.state().clock_ms = Some(clock_ms);
    }

    /// Fails the database over to another server, with all commits.
    pub fn fail_over(&self) {
        self.shared.state().identity += 1;
    }

    /// Removes a namespace's batches that end after this revision, and the rows saved from them, without a failover.
    pub fn lose_after(&self, namespace: &str, revision: Revision) {
        let mut state = self.shared.state();
        let Some(namespace) = state.namespaces.get_mut(namespace) else { return };
        namespace.log.retain(|batch| batch.revision() <= revision);
        namespace.revision = namespace.log.back().map_or(namespace.trimmed, |last| last.revision());
        namespace.saved.retain(|changes| changes.to <= revision);
        namespace.rows = Rows::default();
        for changes in &namespace.saved {
            replay(&mut namespace.rows, changes);
        }
    }

    /// Fails the database over to another server, without a namespace's batches that end after this revision.
    pub fn restore_to(&self, namespace: &str, revision: Revision) {
        self.lose_after(namespace, revision);
        self.fail_over();
    }

    /// A namespace's head revision; 0 if it does not exist.
    #[must_use]
    pub fn revision(&self, namespace: &str) -> Revision {
        self.shared.state().namespaces.get(namespace).map_or(Revision(0), |found| found.revision)
    }

    /// A namespace's whole log, except trimmed batches.
    #[must_use]
    pub fn log(&self, namespace: &str) -> Vec<Arc<Batch>> {
        let state = self.shared.state();
        state.namespaces.get(namespace).map(|found| found.log.iter().cloned().collect()).unwrap_or_default()
    }

    /// The servers that have registered and are not forgotten, including dead ones.
    #[must_use]
    pub fn servers(&self) -> Vec<ServerRecord> {
        self.shared.state().servers.values().cloned().collect()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // The test whose panic poisoned the lock reports it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes the rows with these keys, and inserts or replaces others. The rows stay in the order of their keys.
fn replace<T: Clone, K: Ord>(rows: &mut Vec<T>, ended: &[K], changed: &[T], key: impl Fn(&T) -> K) {
    let mut by_key: BTreeMap<_, _> = rows.drain(..).map(|row| (key(&row), row)).collect();
    by_key.retain(|key, _| !ended.contains(key));
    by_key.extend(changed.iter().map(|row| (key(row), row.clone())));
    rows.extend(by_key.into_values());
}

/// Applies saved changes to rows.
fn replay(rows: &mut Rows, changes: &RowChanges) {
    replace(&mut rows.clients, &changes.ended_clients, &changes.clients, |client| client.id.clone());
    replace(&mut rows.sessions, &changes.ended_sessions, &changes.sessions, |session| session.opened);
    replace(&mut rows.claims, &changes.ended_claims, &changes.claims, |claim| claim.id);
    replace(&mut rows.groups, &changes.ended_groups, &changes.groups, |group| group.id);
    let mut granted: HashMap<_, _> = rows.granted.drain(..).collect();
    for token in changes.claims.iter().filter_map(Claim::token) {
        granted.remove(&token);
    }
    granted.extend(changes.granted.iter().copied());
    let tokens = rows.claims.iter().filter_map(Claim::token);
    rows.granted = tokens.filter_map(|token| Some((token, *granted.get(&token)?))).collect();
    if let Some(settings) = &changes.settings {
        rows.settings.clone_from(settings);
    }
    (rows.revision, rows.lost) = (changes.to, changes.lost);
}

/// Whether a claim to this name has an event in the batch, or the batch declares a loss.
fn is_about(batch: &Batch, name: &str) -> bool {
    batch.declares_loss() || batch.events.iter().any(|recorded| recorded.event.is_about(name))
}

/// One server's connection to a [`MemoryDatabase`].
pub struct MemoryStore {
    shared: Arc<Shared>,
    connected: AtomicBool,
    /// The server that appends here; 0 before its first append.
    own: AtomicU64,
    hints: tokio::sync::Mutex<broadcast::Receiver<ServerId>>,
}

impl MemoryStore {
    /// Disconnects this server from the database, or connects it again.
    pub fn set_connected(&self, connected: bool) {
        self.connected.store(connected, Ordering::SeqCst);
    }

    fn reach(&self) -> Result<MutexGuard<'_, State>, StoreError> {
        let state = self.shared.state();
        if state.unavailable || !self.connected.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable("switched off".to_owned()));
        }
        Ok(state)
    }

    async fn pass_gate(&self) {
        // A real store yields, too.
        yield_now().await;
        self.shared.gate.send_modify(|gate| gate.waiting += 1);
        let _waiting = Waiting(&self.shared);
        // The sender lives in `self`, so the wait ends only with the condition.
        let _ = self.shared.gate.subscribe().wait_for(|gate| gate.holds == 0).await;
    }

    fn commit(state: &mut State, batch: &Batch) -> Result<(), StoreError> {
        let identity = state.identity;
        let current = state.namespaces.get(&batch.namespace);
        let revision = current.map_or(Revision(0), |found| found.revision);
        let intact = current.map_or(0, |found| found.identity) == identity;
        if revision != batch.previous || !(intact || batch.declares_loss()) {
            return Err(StoreError::Conflict);
        }
        assert!(batch.revision() > batch.previous, "a batch must raise the revision");
        let namespace = state.namespaces.entry(batch.namespace.clone()).or_default();
        namespace.identity = identity;
        namespace.revision = batch.revision();
        namespace.log.push_back(Arc::new(batch.clone()));
        Ok(())
    }
}

impl State {
    fn clock_ms(&self) -> i64 {
        self.clock_ms.unwrap_or_else(now_ms)
    }
}

#[async_trait]
impl Store for MemoryStore {
    fn exclusive(&self) -> bool {
        false
    }

    async fn append(&self, batch: &Batch, notify: bool) -> Result<(), StoreError> {
        self.own.store(batch.server.0, Ordering::SeqCst);
        self.pass_gate().await;
        let mut state = self.reach()?;
        let unknown = Err(StoreError::OutcomeUnknown("the reply was lost".to_owned()));
        let outcome = match state.faults.pop_front() {
            Some(Fault::Unavailable) => return Err(StoreError::Unavailable("made to fail".to_owned())),
            Some(Fault::OutcomeUnknownAndLost) => return unknown,
            Some(Fault::OutcomeUnknown) => Self::commit(&mut state, batch).and(unknown),
            Some(Fault::Panic) => {
                let committed = Self::commit(&mut state, batch);
                drop(state);
                panic!("made to panic: {committed:?}");
            }
            None => Self::commit(&mut state, batch),
        };
        if notify && outcome != Err(StoreError::Conflict) {
            // A missing receiver is not an error.
            let _ = self.shared.appended.send(batch.server);
        }
        outcome
    }

    async fn read(&self, namespace: &str, after: Revision, limit: usize) -> Result<Tail, StoreError> {
        yield_now().await;
        let mut state = self.reach()?;
        if state.reads_until_failure.take_if(|others| *others == 0).is_some() {
            return Err(StoreError::Unavailable("made to fail".to_owned()));
        }
        state.reads_until_failure = state.reads_until_failure.map(|others| others - 1);
        let clock_ms = state.clock_ms();
        let Some(found) = state.namespaces.get(namespace) else {
            let head =
                Head { revision: Revision(0), rows_revision: Revision(0), intact: state.identity == 0, clock_ms };
            return Ok(Tail { batches: Vec::new(), head });
        };
        if after < found.trimmed {
            return Err(StoreError::Compacted(found.trimmed));
        }
        let end = after.0.saturating_add(limit.max(1) as u64);
        let wanted = |batch: &&Arc<Batch>| batch.revision() > after && batch.previous.0 < end;
        let head = Head {
            revision: found.revision,
            rows_revision: found.rows.revision,
            intact: found.identity == state.identity,
            clock_ms,
        };
        Ok(Tail { batches: found.log.iter().filter(wanted).cloned().collect(), head })
    }

    async fn search(&self, namespace: &str, name: &str, until: Revision, limit: usize) -> Result<Found, StoreError> {
        let delay = self.reach()?.search_delay;
        tokio::time::sleep(delay).await;
        let state = self.reach()?;
        let nothing = Older::Nothing { dropped: Revision(0), since_ms: None };
        let Some(found) = state.namespaces.get(namespace) else {
            return Ok(Found { batches: Vec::new(), older: nothing });
        };
        let end = found.log.partition_point(|batch| batch.revision() <= until);
        let newest = end.checked_sub(1).map_or(Revision(0), |last| found.log[last].revision());
        let low = Revision(newest.0.saturating_sub(limit.max(1) as u64));
        let start = found.log.partition_point(|batch| batch.revision() <= low);
        let batches = found.log.range(start..end).rev().filter(|batch| is_about(batch, name)).cloned().collect();
        let older = match start {
            0 => Older::Nothing { dropped: found.trimmed, since_ms: found.log.front().map(|oldest| oldest.at_ms) },
            _ => Older::Until(low),
        };
        Ok(Found { batches, older })
    }

    async fn load(&self, namespace: &str) -> Result<Rows, StoreError> {
        let delay = self.reach()?.load_delay;
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        Ok(self.reach()?.namespaces.get(namespace).map(|found| found.rows.clone()).unwrap_or_default())
    }

    async fn save(&self, namespace: &str, changes: &RowChanges) -> Result<(), StoreError> {
        let mut state = self.reach()?;
        let identity = state.identity;
        let found = state.namespaces.get_mut(namespace).ok_or(StoreError::Conflict)?;
        let ends_batch = found.log.iter().any(|batch| batch.revision() == changes.to);
        if found.rows.revision != changes.from || !ends_batch || found.identity != identity {
            return Err(StoreError::Conflict);
        }
        replay(&mut found.rows, changes);
        found.saved.push(changes.clone());
        Ok(())
    }

    async fn heads(&self) -> Result<Vec<(Text, Revision)>, StoreError> {
        Ok(self.reach()?.namespaces.iter().map(|(name, found)| (name.clone(), found.revision)).collect())
    }

    async fn heartbeat(&self, record: &ServerRecord) -> Result<Vec<ServerRecord>, StoreError> {
        let delay = self.reach()?.heartbeat_delay;
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        let mut state = self.reach()?;
        let known = state.servers.get(&record.server);
        if known.map_or(record.heartbeat == FIRST_HEARTBEAT, |known| !known.dead) {
            state.servers.insert(record.server, ServerRecord { dead: false, ..record.clone() });
        }
        Ok(state.servers.values().cloned().collect())
    }

    async fn mark_dead(&self, server: ServerId, heartbeat: u64) -> Result<bool, StoreError> {
        let mut state = self.reach()?;
        let Some(known) = state.servers.get_mut(&server) else { return Ok(true) };
        known.dead |= known.heartbeat == heartbeat;
        Ok(known.dead)
    }

    async fn forget(&self, servers: &[ServerId]) -> Result<(), StoreError> {
        self.reach()?.servers.retain(|id, known| !(known.dead && servers.contains(id)));
        Ok(())
    }

    async fn measure(&self, namespace: &str, after: Revision, limit: usize) -> Result<Option<Measured>, StoreError> {
        let state = self.reach()?;
        let Some(found) = state.namespaces.get(namespace) else { return Ok(None) };
        let batches = found.log.iter().filter(|batch| batch.revision() > after).take(limit);
        Ok(batches.fold(None, |measured: Option<Measured>, batch| {
            let before = measured.map_or(0, |measured| measured.bytes);
            Some(Measured { until: batch.revision(), bytes: before + encode_events(&batch.events).len() as u64 })
        }))
    }

    async fn trim(&self, namespace: &str, until: Revision, before_ms: i64) -> Result<Revision, StoreError> {
        let mut state = self.reach()?;
        let Some(found) = state.namespaces.get_mut(namespace) else { return Ok(Revision(0)) };
        let is_old = |batch: &Batch| batch.at_ms < before_ms || batch.revision() <= until;
        while found.log.len() > 1 && is_old(&found.log[0]) && found.log[0].revision() <= found.rows.revision {
            found.trimmed = found.log[0].revision();
            found.log.pop_front();
        }
        Ok(found.trimmed)
    }

    async fn hint(&self) {
        let mut appended = self.hints.lock().await;
        // An error for missed notifications is reason enough to return.
        while appended.recv().await.is_ok_and(|server| server.0 == self.own.load(Ordering::SeqCst)) {}
    }
}
