//! A small pool of connections that cannot be poisoned: a connection returns to the pool only if its last operation
//! ended cleanly and outside of a transaction, whatever happens to the caller.
//!
//! sqlx's pool was rejected: it loses a slot permanently when a connection dies silently or its caller is cancelled.
//! deadpool was rejected: the handling of transactions, lost connections and deadlines here would still be necessary,
//! it would leave the connections of an earlier generation open until each is taken from the pool, and it does not
//! distinguish a wait for a free connection from the time to connect.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use super::connection::{Append, Arg, Connection, Connector, DriverError, Each, Part, Row};
use super::rows::CHUNK;
use super::statements::{Statements, Table};
use crate::store::metrics::PoolUse;

/// A pool.
pub(crate) struct Pool {
    connector: Arc<dyn Connector>,
    permits: Arc<Semaphore>,
    /// Idle connections, the last used on top, with the generation in which they were made.
    idle: Mutex<Vec<(u64, Box<dyn Connection>)>>,
    /// Changes when a connection is lost: connections made before are then not trusted either. Pools on one database
    /// share it.
    generation: Arc<AtomicU64>,
    statement_timeout: Duration,
    counts: PoolUse,
}

impl Pool {
    /// Creates a pool of at most `size` connections, which waits at most `statement_timeout` for a free one and for
    /// each result. A lost connection invalidates those of all pools of the same `generation`.
    pub(crate) fn new(
        connector: Arc<dyn Connector>,
        size: usize,
        statement_timeout: Duration,
        generation: Arc<AtomicU64>,
        counts: PoolUse,
    ) -> Arc<Self> {
        let permits = Arc::new(Semaphore::new(size));
        Arc::new(Self { connector, permits, idle: Mutex::default(), generation, statement_timeout, counts })
    }

    /// Takes a connection. On failure, nothing was sent.
    pub(crate) async fn take(self: &Arc<Self>) -> Result<Taken, DriverError> {
        let permit = self.permit().await?;
        let generation = self.generation.load(Ordering::SeqCst);
        let connection = match self.pop_idle(generation) {
            Some(connection) => connection,
            None => self.connector.connect().await?,
        };
        self.counts.used.inc();
        Ok(Taken {
            pool: self.clone(),
            generation,
            sql: connection.sql(),
            connection: Some(connection),
            clean: true,
            in_transaction: false,
            _permit: permit,
        })
    }

    /// Waits until one more connection may be in use.
    async fn permit(&self) -> Result<OwnedSemaphorePermit, DriverError> {
        if let Ok(permit) = self.permits.clone().try_acquire_owned() {
            return Ok(permit);
        }
        let begun = Instant::now();
        let permit = timeout(self.statement_timeout, self.permits.clone().acquire_owned()).await;
        self.counts.waits.took(begun.elapsed());
        match permit {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(DriverError::Rejected("all connections are busy".to_owned())),
        }
    }

    fn pop_idle(&self, generation: u64) -> Option<Box<dyn Connection>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|(made, _)| *made == generation);
        let found = idle.pop().map(|(_, connection)| connection);
        self.counts.idle(idle.len());
        found
    }
}

/// A connection in use.
pub(crate) struct Taken {
    pool: Arc<Pool>,
    generation: u64,
    /// The statements of the connected database.
    pub(crate) sql: &'static Statements,
    /// `Some` until dropped.
    connection: Option<Box<dyn Connection>>,
    /// False from the start of an exchange until its result is complete.
    clean: bool,
    in_transaction: bool,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.pool.counts.used.dec();
        if let Some(connection) = self.connection.take()
            && self.clean
            && !self.in_transaction
        {
            let mut idle = self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.push((self.generation, connection));
            self.pool.counts.idle(idle.len());
        }
    }
}

/// Performs an exchange over the connection, and records whether the connection can be used again: not after a failure
/// to complete the exchange, and not if the caller was cancelled in the meantime.
macro_rules! exchange {
    ($taken:ident, $connection:ident => $call:expr) => {{
        let bound = $taken.pool.statement_timeout;
        let Some($connection) = $taken.connection.as_mut().filter(|_| $taken.clean) else {
            return Err(DriverError::Rejected("the connection has failed before".to_owned()));
        };
        $taken.clean = false;
        let outcome = match timeout(bound, $call).await {
            Ok(outcome) => outcome,
            Err(_) => Err(DriverError::Lost(format!("no reply within {bound:?}"))),
        };
        match &outcome {
            Ok(_) | Err(DriverError::Unreadable(_)) => $taken.clean = true,
            Err(DriverError::Lost(_) | DriverError::ReadOnly(_)) => {
                $taken.pool.generation.fetch_add(1, Ordering::SeqCst);
            }
            Err(DriverError::Conflict | DriverError::Rejected(_) | DriverError::Unsafe(_)) => {}
        }
        outcome
    }};
}

impl Taken {
    pub(crate) async fn execute(&mut self, sql: &'static str, args: &[Arg<'_>]) -> Result<u64, DriverError> {
        exchange!(self, connection => connection.execute(sql, args))
    }

    pub(crate) async fn fetch(
        &mut self,
        sql: &'static str,
        args: &[Arg<'_>],
    ) -> Result<Vec<Row<'static>>, DriverError> {
        exchange!(self, connection => connection.fetch(sql, args))
    }

    pub(crate) async fn load(
        &mut self,
        sql: &'static str,
        part: &Part,
        each: &mut Each<'_>,
    ) -> Result<(), DriverError> {
        exchange!(self, connection => connection.load(sql, part, each))
    }

    pub(crate) fn largest_part(&self) -> usize {
        self.connection.as_ref().map_or(CHUNK, |connection| connection.largest_part())
    }

    pub(crate) async fn insert(&mut self, table: &'static Table, cells: &[Arg<'_>]) -> Result<(), DriverError> {
        exchange!(self, connection => connection.insert(table, cells))
    }

    pub(crate) async fn script(&mut self, sql: &'static str) -> Result<(), DriverError> {
        exchange!(self, connection => connection.script(sql))
    }

    pub(crate) async fn append(&mut self, append: &Append<'_>) -> Result<bool, DriverError> {
        exchange!(self, connection => connection.append(append))
    }

    pub(crate) async fn has_semi_sync_lapsed(&mut self) -> Result<bool, DriverError> {
        exchange!(self, connection => connection.has_semi_sync_lapsed())
    }

    /// Begins a transaction by this statement of [`Statements`]. It is rolled back if dropped before its commit.
    pub(crate) async fn begin(&mut self, begin: &'static str) -> Result<(), DriverError> {
        self.in_transaction = true;
        self.script(begin).await
    }

    pub(crate) async fn commit(&mut self) -> Result<(), DriverError> {
        self.script("COMMIT").await?;
        self.in_transaction = false;
        Ok(())
    }

    /// Rolls back the transaction, and keeps the connection.
    pub(crate) async fn rollback(&mut self) -> Result<(), DriverError> {
        self.script("ROLLBACK").await?;
        self.in_transaction = false;
        Ok(())
    }
}
