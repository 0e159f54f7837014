//! The replica: this server's table of a namespace, which follows the log.

use std::collections::{BTreeMap, HashMap};
use std::iter;
use std::sync::Arc;

use tenure_core::{Claim, Event, Recorded, Revision, ServerId, Table, Text};
use tokio::time::Instant;

use super::grant_times::{GrantTimes, View};
use super::local::SharedLocalState;
use super::namespace::Namespace;
use super::rows::{RowsBehind, declarer};
use super::tally::Tally;
use super::waiters::{PendingGrant, Registration};
use crate::store::{Batch, Head, RowChanges, Rows, Store, StoreError};
use crate::watch::Hub;

/// Number of events read at a time when following the log.
const READ: usize = 10_000;

/// A table of more sessions and claims than this is restored on a blocking thread: a million take seconds, during which
/// other sessions must be renewed.
const LARGE: usize = 10_000;

/// Maximum number of times that the rows are loaded while the database loses history, before the attempt fails.
const LOADS: u32 = 5;

/// How far back before the rows history is read at start, so that rejections can be explained as before.
const RECALL: u64 = 2_000;

/// How far beyond all known revisions the database's clock must be, as a revision, to be trusted after a loss of
/// history: 16 ms.
const CLEARLY: u64 = 1 << 20;

/// How far the revision jumps if that clock was set back, since it may be unknown how much was lost: more events than
/// could have been.
const FARTHEST: u64 = 1 << 40;

/// Number of servers whose last batch is remembered.
const WRITERS: usize = 1_000;

pub(super) struct Replica {
    pub(super) name: Text,
    pub(super) store: Arc<dyn Store>,
    pub(super) table: Table,
    pub(super) local: SharedLocalState,
    pub(super) hub: Arc<Hub>,
    pub(super) rows: RowsBehind,
    granted: GrantTimes,
    tally: Tally,
    /// The highest revision that this server has ever seen in this namespace.
    seen: Revision,
    /// The jump to append before anything else, if the namespace is empty, possibly because it was lost.
    pub(super) lost_whole: Option<Loss>,
    /// The server that wrote the last batch.
    pub(super) last_writer: Option<ServerId>,
    /// The recent writers, and when this table came to include their batches.
    pub(super) writers: BTreeMap<ServerId, Instant>,
    /// The last batch of each server, among those that brought this table to its revision ...
    last_of: HashMap<ServerId, Revision>,
    /// ... which include every batch after this revision.
    last_of_since: Revision,
}

/// The jump to append after the database lost (or may have lost) history.
#[derive(Clone, Copy)]
pub(super) struct Loss {
    pub(super) after: Revision,
    pub(super) revision: Revision,
}

impl Replica {
    pub(super) fn new(namespace: &Namespace, store: Arc<dyn Store>, tally: Tally) -> Self {
        Self {
            name: namespace.name.clone(),
            store,
            table: Table::default(),
            local: namespace.local.clone(),
            hub: namespace.hub.clone(),
            rows: RowsBehind::default(),
            granted: GrantTimes::default(),
            tally,
            seen: Revision(0),
            lost_whole: None,
            last_writer: None,
            writers: BTreeMap::new(),
            last_of: HashMap::new(),
            last_of_since: Revision(0),
        }
    }

    /// Applies a committed batch that this table does not include yet.
    pub(super) fn apply(&mut self, batch: Arc<Batch>) {
        batch.events.iter().for_each(|recorded| self.apply_event(recorded));
        self.committed(batch, iter::empty());
    }

    /// Applies a committed event of a batch that is published later.
    pub(super) fn apply_event(&mut self, recorded: &Recorded) {
        // Later events may end the session that shows whose number it is.
        if let Some(client) = declarer(recorded, &self.table) {
            self.rows.declared(client, recorded.revision);
        }
        self.table.apply(recorded);
    }

    /// Publishes a committed batch that this table now includes, and registers its callers.
    pub(super) fn committed(
        &mut self,
        batch: Arc<Batch>,
        registrations: impl Iterator<Item = Option<Registration>>,
    ) -> Vec<Option<PendingGrant>> {
        self.seen = self.seen.max(batch.revision());
        self.record_writer(&batch);
        self.granted.apply(&batch);
        self.rows.touched(&batch.events, &self.table);
        let pending = self.local.commit(registrations, &batch.events, &self.table);
        self.tally.apply(&batch, &self.table);
        self.hub.publish(batch, &self.table);
        pending
    }

    /// The changes that bring the rows to the table's revision.
    pub(super) fn row_changes(&self) -> RowChanges {
        let mut changes = self.rows.changes(&self.table);
        let granted = |claim: &Claim| Some((claim.token()?, self.granted.of(claim)?));
        changes.granted = changes.claims.iter().filter_map(granted).collect();
        changes
    }

    /// What readers see.
    pub(super) fn view(&self) -> View<'_> {
        View { table: &self.table, granted: &self.granted }
    }

    fn record_writer(&mut self, batch: &Batch) {
        self.last_writer = Some(batch.server);
        self.writers.insert(batch.server, Instant::now());
        if self.last_of.len() >= WRITERS {
            self.last_of.clear();
            self.last_of_since = batch.previous;
        }
        self.last_of.insert(batch.server, batch.revision());
        for recorded in &batch.events {
            match &recorded.event {
                Event::ServerAdopted { dead, .. } => {
                    self.last_of.insert(*dead, batch.revision());
                }
                // The lost history may have contained such a batch.
                Event::HistoryLost { .. } => self.last_of_since = batch.revision(),
                _ => {}
            }
        }
    }

    /// Whether this table has reached its revision from `after` or earlier without a batch of that server, and without
    /// an adoption of what it left.
    pub(super) fn has_nothing_of(&self, server: ServerId, after: Revision) -> bool {
        let since = after >= self.last_of_since && after <= self.table.revision();
        since && self.last_of.get(&server).is_none_or(|last| *last <= after)
    }

    /// Loads the rows. The log after them is read by [`Self::follow`].
    pub(super) async fn load(&mut self) -> Result<(), StoreError> {
        let mut rows = self.store.load(&self.name).await?;
        let granted = std::mem::take(&mut rows.granted);
        let (revision, is_large) = (rows.revision, rows.claims.len() + rows.sessions.len() > LARGE);
        let restore = move || {
            let Rows { revision, lost, clients, sessions, claims, settings, groups, .. } = rows;
            Table::restore(revision, lost, clients, sessions, claims, settings, groups)
        };
        let mut restored = if is_large {
            let restored = tokio::task::spawn_blocking(restore).await;
            restored.map_err(|error| StoreError::Unavailable(error.to_string()))?
        } else {
            restore()
        };
        self.recall(&mut restored).await?;
        // Nothing may fail from here on: the hub and the local state would continue with the previous table.
        self.seen = self.seen.max(self.table.revision());
        self.rows = RowsBehind::at(revision);
        self.table = restored;
        self.granted = GrantTimes::loaded(granted);
        self.last_of.clear();
        self.last_of_since = revision;
        self.tally.reset(&self.table);
        self.hub.reset(&self.table);
        self.local.lock().reconcile(&self.table);
        Ok(())
    }

    /// Adds to a table what happened shortly before its revision.
    async fn recall(&self, table: &mut Table) -> Result<(), StoreError> {
        let until = table.revision();
        let mut after = Revision(until.0.saturating_sub(RECALL));
        while after < until {
            let tail = match self.store.read(&self.name, after, READ).await {
                Ok(tail) => tail,
                Err(StoreError::Compacted(gone)) if gone > after => {
                    after = gone;
                    continue;
                }
                Err(StoreError::Compacted(_)) => return Ok(()),
                Err(error) => return Err(error),
            };
            let Some(last) = tail.batches.last() else { return Ok(()) };
            let past = |recorded: &&Recorded| recorded.revision <= until;
            for recorded in tail.batches.iter().flat_map(|batch| &batch.events).filter(past) {
                table.recall(recorded);
            }
            after = last.revision();
        }
        Ok(())
    }

    /// Follows the log to its head. Returns the jump to append if the database lost history.
    pub(super) async fn follow(&mut self) -> Result<Option<Loss>, StoreError> {
        let mut loads = 0;
        loop {
            let tail = match self.store.read(&self.name, self.table.revision(), READ).await {
                Err(StoreError::Compacted(_)) => {
                    self.load().await?;
                    continue;
                }
                tail => tail?,
            };
            let head = tail.head;
            self.rows.saved(head.rows_revision);
            // The database may have failed over again since the rows were loaded.
            let ahead = head.revision < self.table.revision();
            if ahead || (!head.intact && head.revision > Revision(0) && loads == 0) {
                loads += 1;
                if loads > LOADS {
                    return Err(StoreError::Unavailable("it loses history repeatedly".to_owned()));
                }
                self.load().await?;
                continue;
            }
            let mut broken = false;
            for batch in tail.batches {
                broken = batch.previous != self.table.revision();
                if broken {
                    break;
                }
                self.apply(batch);
            }
            if broken {
                // History was lost without notice, and another server has already jumped.
                self.load().await?;
                self.local.lock().close_streams();
            } else if self.table.revision() >= head.revision {
                let loss = self.loss(&head);
                if self.seen > Revision(0) || head.revision > Revision(0) {
                    return Ok(loss);
                }
                // A read must not create a namespace.
                self.lost_whole = loss;
                return Ok(None);
            }
        }
    }

    /// The jump that is needed, if any, with the table at the head. If possible, it is to the database's clock: an
    /// earlier jump may be among what was lost, and nothing else is certain to lead beyond that.
    fn loss(&self, head: &Head) -> Option<Loss> {
        if head.intact && head.revision >= self.seen {
            return None;
        }
        let clock = head.clock_ms.checked_mul(1 << 16).and_then(|clock| u64::try_from(clock).ok()).unwrap_or_default();
        let known = self.seen.max(head.revision).0;
        let revision = if clock < known + CLEARLY { known + FARTHEST } else { clock };
        Some(Loss { after: head.revision, revision: Revision(revision) })
    }
}
