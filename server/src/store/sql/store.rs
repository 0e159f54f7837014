//! The logic that all SQL stores share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tenure_core::{Revision, ServerId, Text};

use super::connection::{Append, Arg, DriverError, Row};
use super::pool::{Pool, Taken};
use super::rows::{CHUNK, count, int, number, unreadable};
use super::statements::HeadMove;
use super::{loading, saving};
use crate::store::codec::{decode_events, encode_events, encode_keys, encode_name};
use crate::store::metrics::SemiSync;
use crate::store::spans;
use crate::store::{
    Batch, FIRST_HEARTBEAT, Found, Head, Measured, Older, RowChanges, Rows, ServerRecord, Store, StoreError, Tail,
};

/// Number of batches dropped in one transaction.
const TRIM_STEP: usize = 500;

/// Maximum number of such transactions in one call of `trim`.
const TRIM_STEPS: usize = 20;

/// Number of events decoded before yielding to other tasks: some tenths of a millisecond.
const DECODED: usize = 100;

/// Attempts of an append that the database rolls back because of other transactions.
const APPEND_ATTEMPTS: usize = 3;

/// A source of hints that other servers have appended.
#[async_trait]
pub(crate) trait Hints: Send + Sync + 'static {
    /// See [`Store::hint`].
    async fn hint(&self);
}

/// A store in an SQL database.
pub(crate) struct SqlStore {
    /// Connections for writes.
    pub(crate) writers: Arc<Pool>,
    /// Connections for reads; may be the same pool.
    pub(crate) readers: Arc<Pool>,
    /// The connection for heartbeats; may be the writers' pool.
    pub(crate) heartbeats: Arc<Pool>,
    /// Whether this process owns the database.
    pub(crate) exclusive: bool,
    /// Source of hints about other servers' appends, if the database has one.
    pub(crate) hints: Option<Box<dyn Hints>>,
    /// The server that appends here; 0 before its first append.
    pub(crate) own: Arc<AtomicU64>,
    pub(crate) semi_sync: SemiSync,
}

/// Converts a failure of an operation that changed nothing, or whose changes are rolled back.
fn unavailable(error: DriverError) -> StoreError {
    StoreError::Unavailable(error.reason())
}

/// Converts a failure of a statement that commits.
fn uncertain(error: DriverError) -> StoreError {
    match error {
        DriverError::Conflict => StoreError::Conflict,
        DriverError::Lost(reason) | DriverError::Unreadable(reason) => StoreError::OutcomeUnknown(reason),
        DriverError::Rejected(_) | DriverError::ReadOnly(_) | DriverError::Unsafe(_) => unavailable(error),
    }
}

/// Converts a failure within a transaction that is not committed.
fn undone(error: DriverError) -> StoreError {
    match error {
        DriverError::Conflict => StoreError::Conflict,
        _ => unavailable(error),
    }
}

/// The kind of error of an append, for traces.
fn failed_by(appended: &Result<bool, DriverError>) -> Option<&'static str> {
    match appended {
        Ok(true) => None,
        Ok(false) | Err(DriverError::Conflict) => Some("conflict"),
        Err(DriverError::Lost(_)) => Some("connection lost"),
        Err(DriverError::ReadOnly(_)) => Some("away"),
        Err(DriverError::Rejected(_) | DriverError::Unsafe(_) | DriverError::Unreadable(_)) => Some("refused"),
    }
}

/// Decodes a batch whose previous, server, number, at_ms and events begin at this column.
fn batch(namespace: &Text, row: &Row<'_>, column: usize) -> Result<Batch, DriverError> {
    Ok(Batch {
        namespace: namespace.clone(),
        previous: Revision(number(row, column)?),
        server: ServerId(number(row, column + 1)?),
        number: row.int(column + 2)?.cast_unsigned(),
        at_ms: row.int(column + 3)?,
        events: decode_events(row.text(column + 4)?).map_err(unreadable)?,
    })
}

/// Decodes the batches of these rows. Yields to other tasks in between, since there may be megabytes.
async fn decode(namespace: &Text, rows: Vec<Row<'static>>, column: usize) -> Result<Vec<Arc<Batch>>, StoreError> {
    let (mut batches, mut events) = (Vec::new(), 0);
    for row in rows {
        let batch = batch(namespace, &row, column).map_err(unavailable)?;
        events += batch.events.len();
        batches.push(Arc::new(batch));
        if events >= DECODED {
            events = 0;
            tokio::task::yield_now().await;
        }
    }
    Ok(batches)
}

fn head(row: &Row<'_>) -> Result<Head, DriverError> {
    let (intact, clock_ms) = (row.int(2)? == 1, row.int(3)?);
    if row.is_null(0) {
        return Ok(Head { revision: Revision(0), rows_revision: Revision(0), intact, clock_ms });
    }
    Ok(Head { revision: Revision(number(row, 0)?), rows_revision: Revision(number(row, 1)?), intact, clock_ms })
}

fn server_record(row: &Row<'_>) -> Result<ServerRecord, DriverError> {
    Ok(ServerRecord {
        server: ServerId(number(row, 0)?),
        heartbeat: row.int(1)?.cast_unsigned(),
        lease: Duration::from_millis(number(row, 2)?),
        label: row.text(3)?.to_owned(),
        address: row.text(4)?.to_owned(),
        certificate: row.text(5)?.to_owned(),
        dead: row.int(6)? == 1,
    })
}

async fn servers(connection: &mut Taken) -> Result<Vec<ServerRecord>, DriverError> {
    connection.fetch(connection.sql.servers, &[]).await?.iter().map(server_record).collect()
}

#[async_trait]
impl Store for SqlStore {
    fn exclusive(&self) -> bool {
        self.exclusive
    }

    async fn append(&self, batch: &Batch, notify: bool) -> Result<(), StoreError> {
        self.own.store(batch.server.0, Ordering::SeqCst);
        let head = match batch.previous {
            Revision(0) if batch.declares_loss() => HeadMove::CreateAnew,
            Revision(0) => HeadMove::Create,
            _ if batch.declares_loss() => HeadMove::Adopt,
            _ => HeadMove::Advance,
        };
        let append = Append { head, batch, events: &encode_events(&batch.events), notify };
        // A transaction that the database rolled back because of others has not lost the race for the revision: only
        // the head shows that, and only that is a conflict.
        let mut attempt = 1;
        loop {
            let mut connection = self.writers.take().await.map_err(unavailable)?;
            let statement = spans::statement(connection.sql.system);
            let appended = connection.append(&append).await;
            spans::executed(&statement, failed_by(&appended));
            match appended {
                Ok(true) => return Ok(()),
                Ok(false) => return Err(StoreError::Conflict),
                Err(DriverError::Conflict) if attempt < APPEND_ATTEMPTS => attempt += 1,
                Err(DriverError::Conflict) => return Err(unavailable(DriverError::Conflict)),
                Err(error) => return Err(uncertain(error)),
            }
        }
    }

    async fn read(&self, namespace: &str, after: Revision, limit: usize) -> Result<Tail, StoreError> {
        let mut connection = self.readers.take().await.map_err(unavailable)?;
        let limit = limit.max(1);
        let end = after.0.saturating_add(limit as u64).min(Revision::MAX.0);
        let after = Revision(after.0.min(Revision::MAX.0));
        let args = [Arg::Text(namespace), Arg::Text(namespace), int(after.0), count(limit), int(end)];
        let mut found = connection.fetch(connection.sql.read, &args).await.map_err(unavailable)?;
        let Some(first) = found.first() else {
            return Err(StoreError::Unavailable("the database returned no head".to_owned()));
        };
        let head = head(first).map_err(unavailable)?;
        let name = Text::from(namespace);
        found.retain(|row| !row.is_null(4));
        let mut batches = decode(&name, found, 5).await?;
        // Sorted here at no cost: MariaDB would write the batches to a temporary file.
        batches.sort_by_key(|batch| batch.previous);
        match batches.first() {
            Some(oldest) if oldest.previous > after => Err(StoreError::Compacted(oldest.previous)),
            _ => Ok(Tail { batches, head }),
        }
    }

    async fn search(&self, namespace: &str, name: &str, until: Revision, limit: usize) -> Result<Found, StoreError> {
        let json = encode_name(name);
        let mut connection = self.readers.take().await.map_err(unavailable)?;
        let args = [Arg::Text(namespace), int(until.0.min(Revision::MAX.0))];
        let newest = connection.fetch(connection.sql.newest_batch, &args).await.map_err(unavailable)?;
        let mut found = Found { batches: Vec::new(), older: Older::Until(Revision(0)) };
        if let Some(newest) = newest.first() {
            let newest = number(newest, 0).map_err(unavailable)?;
            let low = newest.saturating_sub(limit.max(1) as u64);
            let args = [Arg::Text(namespace), int(low), int(newest), Arg::Text(&json)];
            let rows = connection.fetch(connection.sql.search, &args).await.map_err(unavailable)?;
            let name = Text::from(namespace);
            found.batches = decode(&name, rows, 0).await?;
            found.older = Older::Until(Revision(low));
        }
        if found.older == Older::Until(Revision(0)) {
            let oldest = connection.fetch(connection.sql.oldest_batches, &[Arg::Text(namespace), count(1)]).await;
            let oldest = oldest.map_err(unavailable)?;
            let oldest = oldest.first().map(|row| Ok((number(row, 1)?, row.int(2)?))).transpose();
            let (dropped, since_ms) = oldest.map_err(unavailable)?.unzip();
            found.older = Older::Nothing { dropped: Revision(dropped.unwrap_or_default()), since_ms };
        }
        Ok(found)
    }

    async fn load(&self, namespace: &str) -> Result<Rows, StoreError> {
        let mut connection = self.readers.take().await.map_err(unavailable)?;
        connection.begin(connection.sql.begin_snapshot).await.map_err(unavailable)?;
        let loaded = loading::load_rows(&mut connection, namespace).await;
        let rolled_back = connection.rollback().await;
        let rows = loaded.map_err(unavailable)?;
        rolled_back.map_err(unavailable)?;
        Ok(rows)
    }

    async fn save(&self, namespace: &str, changes: &RowChanges) -> Result<(), StoreError> {
        let mut connection = self.writers.take().await.map_err(unavailable)?;
        connection.begin(connection.sql.begin).await.map_err(undone)?;
        if saving::change_rows(&mut connection, namespace, changes).await.map_err(undone)? {
            connection.commit().await.map_err(uncertain)
        } else {
            connection.rollback().await.map_err(undone)?;
            Err(StoreError::Conflict)
        }
    }

    async fn heads(&self) -> Result<Vec<(Text, Revision)>, StoreError> {
        let mut connection = self.readers.take().await.map_err(unavailable)?;
        let found = connection.fetch(connection.sql.heads, &[]).await.map_err(unavailable)?;
        let head = |row: &Row<'_>| Ok((Text::from(row.text(0)?), Revision(number(row, 1)?)));
        found.iter().map(head).collect::<Result<_, DriverError>>().map_err(unavailable)
    }

    async fn heartbeat(&self, own: &ServerRecord) -> Result<Vec<ServerRecord>, StoreError> {
        let mut connection = self.heartbeats.take().await.map_err(unavailable)?;
        let id = int(own.server.0);
        let lease = Arg::Int(i64::try_from(own.lease.as_millis()).unwrap_or(i64::MAX));
        let [label, address, certificate] = [&own.label, &own.address, &own.certificate].map(|text| Arg::Text(text));
        if self.exclusive {
            connection.execute(connection.sql.outlive, &[id]).await.map_err(uncertain)?;
        }
        let said = [int(own.heartbeat), lease, label, address, certificate, id];
        let beaten = connection.execute(connection.sql.heartbeat, &said).await.map_err(uncertain)?;
        if beaten == 0 && own.heartbeat == FIRST_HEARTBEAT {
            connection.execute(connection.sql.register, &said).await.map_err(uncertain)?;
        }
        let servers = servers(&mut connection).await.map_err(unavailable)?;
        // The heartbeat counts, even if this fails.
        if let Ok(has_lapsed) = connection.has_semi_sync_lapsed().await {
            self.semi_sync.note(has_lapsed);
        }
        Ok(servers)
    }

    async fn mark_dead(&self, server: ServerId, heartbeat: u64) -> Result<bool, StoreError> {
        let mut connection = self.heartbeats.take().await.map_err(unavailable)?;
        connection.execute(connection.sql.mark_dead, &[int(server.0), int(heartbeat)]).await.map_err(uncertain)?;
        let servers = servers(&mut connection).await.map_err(unavailable)?;
        Ok(servers.iter().all(|record| record.dead || record.server != server))
    }

    async fn forget(&self, servers: &[ServerId]) -> Result<(), StoreError> {
        let keys: Vec<u64> = servers.iter().map(|server| server.0).collect();
        let mut connection = self.heartbeats.take().await.map_err(unavailable)?;
        for keys in keys.chunks(CHUNK) {
            connection.execute(connection.sql.forget, &[Arg::Text(&encode_keys(keys))]).await.map_err(uncertain)?;
        }
        Ok(())
    }

    async fn measure(&self, namespace: &str, after: Revision, limit: usize) -> Result<Option<Measured>, StoreError> {
        let mut connection = self.readers.take().await.map_err(unavailable)?;
        let args = [Arg::Text(namespace), int(after.0.min(Revision::MAX.0)), count(limit)];
        let found = connection.fetch(connection.sql.measure, &args).await.map_err(unavailable)?;
        let measured = |row: &Row<'_>| Ok(Measured { until: Revision(number(row, 0)?), bytes: number(row, 1)? });
        found.iter().find(|row| !row.is_null(0)).map(measured).transpose().map_err(unavailable)
    }

    async fn trim(&self, namespace: &str, until: Revision, before_ms: i64) -> Result<Revision, StoreError> {
        let mut dropped = Revision(0);
        for _ in 0..TRIM_STEPS {
            // Taken for each step, since appends may wait for a connection.
            let mut connection = self.writers.take().await.map_err(unavailable)?;
            // One more than may be dropped, so that the newest batch is never dropped.
            let args = [Arg::Text(namespace), count(TRIM_STEP + 1)];
            let oldest = connection.fetch(connection.sql.oldest_batches, &args).await.map_err(unavailable)?;
            let mut last = None;
            if let Some(first) = oldest.first() {
                dropped = Revision(number(first, 1).map_err(unavailable)?);
            }
            for row in oldest.iter().rev().skip(1).rev() {
                let revision = row.int(0).map_err(unavailable)?;
                let is_old = row.int(2).map_err(unavailable)? < before_ms || revision.cast_unsigned() <= until.0;
                if !is_old || revision > row.int(3).map_err(unavailable)? {
                    break;
                }
                last = Some(revision);
            }
            let Some(last) = last else { break };
            let args = [Arg::Text(namespace), Arg::Int(last)];
            connection.execute(connection.sql.delete_batches, &args).await.map_err(uncertain)?;
            dropped = Revision(last.cast_unsigned());
            if oldest.len() <= TRIM_STEP {
                break;
            }
        }
        Ok(dropped)
    }

    async fn hint(&self) {
        match &self.hints {
            Some(hints) => hints.hint().await,
            None => std::future::pending().await,
        }
    }
}
