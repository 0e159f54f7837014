//! A store that misleads its server: about the results of appends, about the log, and about other servers.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tenure_core::{Command, Event, Recorded, Revision, ServerId, Table, Text};
use tenure_server::store::{
    Batch, FIRST_HEARTBEAT, Found, Head, Measured, MemoryDatabase, RowChanges, Rows, ServerRecord, Store, StoreError,
    Tail,
};

use crate::defect::log::{self, Follower};
use crate::defect::{Defect, lock};
use crate::host::HostContext;
use crate::store::SimStore;

/// The lease of other servers appears shorter by this factor.
const LEASE_DIVISOR: u32 = 4;

/// By this many revisions a jump leads beyond everything known: more events than can have been lost.
const JUMP: u64 = 1 << 40;

/// When one server's heartbeats are not written: for longer than its lease and a TTL.
const CUT_OFF: Range<Duration> = Duration::from_secs(1)..Duration::from_secs(7);

/// Distinguishes batches that the store adds from those of the server.
const ADDED: u64 = 1 << 63;

/// One server's connection to the database, with a defect.
pub struct FaultyStore {
    inner: Arc<SimStore>,
    defect: Defect,
    database: MemoryDatabase,
    context: HostContext,
    follower: Mutex<Follower>,
    /// When the server opened sessions.
    opened: Mutex<BTreeMap<Revision, Duration>>,
    /// The last servers that were read.
    servers: Mutex<Vec<ServerRecord>>,
}

impl FaultyStore {
    /// Adds a defect to a store of this database.
    #[must_use]
    pub fn new(inner: SimStore, defect: Defect, database: MemoryDatabase, context: HostContext) -> Self {
        let (follower, opened, servers) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self { inner: Arc::new(inner), defect, database, context, follower, opened, servers }
    }

    /// How the batch is altered before it is appended, and the commands that are carried out after it.
    fn tamper(&self, batch: &Batch) -> (Option<Batch>, Vec<Command>) {
        let mut follower = lock(&self.follower);
        let log = self.database.log(&batch.namespace);
        let Some(table) = follower.follow(&log, batch.previous) else { return (None, Vec::new()) };
        let commands = match self.defect {
            Defect::RenewalForgotten => log::expire(table, &self.overdue(table)),
            defect => log::commands(defect, table, batch),
        };
        (log::alter(self.defect, table, batch), commands)
    }

    /// The sessions whose first TTL is over.
    fn overdue(&self, table: &Table) -> Vec<Revision> {
        let (now, opened) = (self.context.time.now(), lock(&self.opened));
        let is_over = |opened: Revision, since: Duration| {
            table.session_opened_at(opened).is_some_and(|session| since + session.spec.ttl < now)
        };
        opened.iter().filter(|(opened, since)| is_over(**opened, **since)).map(|(opened, _)| *opened).collect()
    }

    /// Whether the store does not write the heartbeats of this server, and hides what others write. This is so for the
    /// first server only: others must be able to mark it dead.
    fn is_cut_off(&self) -> bool {
        self.defect == Defect::LeaseIgnored && self.context.host == 0 && CUT_OFF.contains(&self.context.time.now())
    }

    fn note_opened(&self, batch: &Batch) {
        let mut opened = lock(&self.opened);
        for recorded in batch.events.iter().filter(|recorded| matches!(recorded.event, Event::SessionOpened(_))) {
            opened.insert(recorded.revision, self.context.time.now());
        }
    }

    /// Appends what commands cause right after this batch, if nothing was appended meanwhile.
    async fn append_commands(&self, batch: &Batch, commands: Vec<Command>) {
        let events = {
            let mut follower = lock(&self.follower);
            let log = self.database.log(&batch.namespace);
            let Some(table) = follower.follow(&log, batch.revision()) else { return };
            log::decide(table, commands)
        };
        if !events.is_empty() {
            let added = Batch { previous: batch.revision(), events, number: batch.number | ADDED, ..batch.clone() };
            // A failure means that the defect does not take effect this time.
            let _ = self.inner.append(&added, true).await;
        }
    }

    /// Appends the jump that follows a loss of history, and returns it as if it followed on the lost events.
    async fn jump(&self, namespace: &str, after: Revision, head: Head) -> Result<Tail, StoreError> {
        let revision = Revision(after.0 + JUMP);
        let events = vec![Recorded { revision, event: Event::HistoryLost { after: head.revision } }];
        let (server, number) = (ServerId(u64::MAX), revision.0);
        let jump = Batch {
            namespace: namespace.into(),
            previous: head.revision,
            events,
            server,
            number,
            at_ms: head.clock_ms,
        };
        match self.inner.append(&jump, true).await {
            Ok(()) => {
                let head = Head { revision, intact: true, ..head };
                Ok(Tail { batches: vec![Arc::new(Batch { previous: after, ..jump })], head })
            }
            Err(_) => Err(StoreError::Unavailable("the jump was not appended".to_owned())),
        }
    }
}

#[async_trait]
impl Store for FaultyStore {
    fn exclusive(&self) -> bool {
        self.inner.exclusive()
    }

    async fn append(&self, batch: &Batch, notify: bool) -> Result<(), StoreError> {
        if self.defect == Defect::PublishedEarly {
            let (inner, batch) = (self.inner.clone(), batch.clone());
            tokio::spawn(async move { inner.append(&batch, notify).await });
            return Ok(());
        }
        let (altered, commands) = self.tamper(batch);
        let appended = self.inner.append(altered.as_ref().unwrap_or(batch), notify).await;
        if appended.is_ok() {
            self.note_opened(batch);
            if !commands.is_empty() {
                self.append_commands(batch, commands).await;
            }
        }
        match (appended, self.defect) {
            // The server goes on as if the wait had ended.
            (Ok(()), Defect::WaitEndsAtHome) => Ok(()),
            // Makes the server read what was appended, or what it may see of it, instead of its own batch.
            (Ok(()), Defect::OldTokenAfterLoss) if batch.declares_loss() => Err(StoreError::Conflict),
            (Ok(()), _) if altered.is_some() => Err(StoreError::Conflict),
            (Err(StoreError::OutcomeUnknown(_)), Defect::UnknownIsCommitted)
            | (Err(StoreError::Conflict), Defect::ConflictIsCommitted)
            | (Err(StoreError::Unavailable(_)), Defect::RejectedIsCommitted) => Ok(()),
            (Err(StoreError::OutcomeUnknown(why)), Defect::UnknownIsRejected) => Err(StoreError::Unavailable(why)),
            (appended, _) => appended,
        }
    }

    async fn read(&self, namespace: &str, after: Revision, limit: usize) -> Result<Tail, StoreError> {
        let mut tail = self.inner.read(namespace, after, limit).await?;
        match self.defect {
            Defect::PollSkips => {
                let newest = tail.batches.pop().map(|newest| Batch { previous: after, ..(*newest).clone() });
                tail.batches = newest.map(Arc::new).into_iter().collect();
            }
            Defect::LossKept if tail.head.revision < after => return self.jump(namespace, after, tail.head).await,
            Defect::OldTokenAfterLoss => tail.batches.iter_mut().for_each(log::hide_loss),
            Defect::LeaseIgnored if self.is_cut_off() => {
                tail.batches.clear();
                tail.head.revision = tail.head.revision.min(after);
            }
            _ => {}
        }
        Ok(tail)
    }

    async fn search(&self, namespace: &str, name: &str, until: Revision, limit: usize) -> Result<Found, StoreError> {
        self.inner.search(namespace, name, until, limit).await
    }

    async fn load(&self, namespace: &str) -> Result<Rows, StoreError> {
        let mut rows = self.inner.load(namespace).await?;
        if self.defect == Defect::OldTokenAfterLoss {
            rows.lost = Revision(0);
        }
        Ok(rows)
    }

    async fn save(&self, namespace: &str, changes: &RowChanges) -> Result<(), StoreError> {
        self.inner.save(namespace, changes).await
    }

    async fn heads(&self) -> Result<Vec<(Text, Revision)>, StoreError> {
        self.inner.heads().await
    }

    async fn heartbeat(&self, record: &ServerRecord) -> Result<Vec<ServerRecord>, StoreError> {
        if self.is_cut_off() && record.heartbeat != FIRST_HEARTBEAT {
            return Ok(lock(&self.servers).clone());
        }
        let mut servers = self.inner.heartbeat(record).await?;
        lock(&self.servers).clone_from(&servers);
        if self.defect == Defect::MarkedDeadEarly {
            servers.iter_mut().for_each(|server| server.lease /= LEASE_DIVISOR);
        }
        Ok(servers)
    }

    async fn mark_dead(&self, server: ServerId, heartbeat: u64) -> Result<bool, StoreError> {
        self.inner.mark_dead(server, heartbeat).await
    }

    async fn forget(&self, servers: &[ServerId]) -> Result<(), StoreError> {
        self.inner.forget(servers).await
    }

    async fn measure(&self, namespace: &str, after: Revision, limit: usize) -> Result<Option<Measured>, StoreError> {
        self.inner.measure(namespace, after, limit).await
    }

    async fn trim(&self, namespace: &str, until: Revision, before_ms: i64) -> Result<Revision, StoreError> {
        self.inner.trim(namespace, until, before_ms).await
    }

    async fn hint(&self) {
        self.inner.hint().await;
    }
}
