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

use super::connection::{Append, Arg, Connection, Connector, DriverError, Each, Row};
use super::statements::{Statements, Table};
use crate::store::metrics::PoolUse;

/// A pool. Clones share the same pool.
#[derive(Clone)]
pub(crate) struct Pool {
    shared: Arc<Shared>,
}

struct Shared {
    connector: Arc<dyn Connector>,
    permits: Arc<Semaphore>,
    /// Idle connections, the last used on top, with the generation in which they were made.
    idle: Mutex<Vec<(u64, Box<dyn Connection>)>>,
    /// Changes when a connection is lost: connections made before are then not trusted either.
    generation: Arc<AtomicU64>,
    statement_timeout: Duration,
    counts: PoolUse,
}

impl Pool {
    /// Creates a pool of at most `size` connections, which waits at most `statement_timeout` for a free one and for
    /// each result.
    pub(crate) fn new(
        connector: Arc<dyn Connector>,
        size: usize,
        statement_timeout: Duration,
        counts: PoolUse,
    ) -> Self {
        Self::sharing_fate(connector, size, statement_timeout, Arc::default(), counts)
    }

    /// Creates another pool on the same database. A lost connection in one of them invalidates the connections of both.
    pub(crate) fn beside(&self, size: usize, counts: PoolUse) -> Self {
        let shared = &self.shared;
        let (connector, generation) = (shared.connector.clone(), shared.generation.clone());
        Self::sharing_fate(connector, size, shared.statement_timeout, generation, counts)
    }

    fn sharing_fate(
        connector: Arc<dyn Connector>,
        size: usize,
        statement_timeout: Duration,
        generation: Arc<AtomicU64>,
        counts: PoolUse,
    ) -> Self {
        let permits = Arc::new(Semaphore::new(size));
        let shared = Shared { connector, permits, idle: Mutex::default(), generation, statement_timeout, counts };
        Self { shared: Arc::new(shared) }
    }

    /// Takes a connection. On failure, nothing was sent.
    pub(crate) async fn take(&self) -> Result<Taken, DriverError> {
        let shared = self.shared.clone();
        let permit = shared.permit().await?;
        let generation = shared.generation.load(Ordering::SeqCst);
        let connection = match shared.pop_idle(generation) {
            Some(connection) => connection,
            None => shared.connector.connect().await?,
        };
        shared.counts.taken();
        Ok(Taken {
            shared,
            generation,
            connection: Some(connection),
            clean: true,
            in_transaction: false,
            _permit: permit,
        })
    }
}

impl Shared {
    /// Waits until one more connection may be in use.
    async fn permit(&self) -> Result<OwnedSemaphorePermit, DriverError> {
        if let Ok(permit) = self.permits.clone().try_acquire_owned() {
            return Ok(permit);
        }
        let begun = Instant::now();
        let permit = timeout(self.statement_timeout, self.permits.clone().acquire_owned()).await;
        self.counts.waited(begun.elapsed());
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
    shared: Arc<Shared>,
    generation: u64,
    /// `Some` until dropped.
    connection: Option<Box<dyn Connection>>,
    /// False from the start of an exchange until its result is complete.
    clean: bool,
    in_transaction: bool,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.shared.counts.given_back();
        if let Some(connection) = self.connection.take()
            && self.clean
            && !self.in_transaction
        {
            let mut idle = self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.push((self.generation, connection));
            self.shared.counts.idle(idle.len());
        }
    }
}

/// Performs an exchange over the connection, and records whether the connection can be used again: not after a failure,
/// and not if the caller was cancelled in the meantime.
macro_rules! exchange {
    ($taken:ident, $connection:ident => $call:expr) => {{
        let bound = $taken.shared.statement_timeout;
        let Some($connection) = $taken.connection.as_mut().filter(|_| $taken.clean) else {
            return Err(DriverError::Rejected("the connection has failed before".to_owned()));
        };
        $taken.clean = false;
        let outcome = match timeout(bound, $call).await {
            Ok(outcome) => outcome,
            Err(_) => Err(DriverError::Lost(format!("no reply within {bound:?}"))),
        };
        match &outcome {
            Ok(_) => $taken.clean = true,
            Err(DriverError::Lost(_) | DriverError::ReadOnly(_)) => {
                $taken.shared.generation.fetch_add(1, Ordering::SeqCst);
            }
            Err(
                DriverError::Conflict | DriverError::Rejected(_) | DriverError::Unsafe(_) | DriverError::Foreign(..),
            ) => {}
        }
        outcome
    }};
}

impl Taken {
    /// The statements of the connected database.
    pub(crate) fn sql(&self) -> Result<&'static Statements, DriverError> {
        let closed = || DriverError::Rejected("the connection is closed".to_owned());
        self.connection.as_ref().map(|connection| connection.sql()).ok_or_else(closed)
    }

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
        args: &[Arg<'_>],
        each: &mut Each<'_>,
    ) -> Result<(), DriverError> {
        exchange!(self, connection => connection.load(sql, args, each))
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

    /// Begins a transaction that writes. It is rolled back if dropped before its commit.
    pub(crate) async fn begin(&mut self) -> Result<(), DriverError> {
        let begin = self.sql()?.begin;
        self.in_transaction = true;
        self.script(begin).await
    }

    /// Begins a transaction that sees the database as of one moment.
    pub(crate) async fn begin_snapshot(&mut self) -> Result<(), DriverError> {
        let begin = self.sql()?.begin_snapshot;
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
