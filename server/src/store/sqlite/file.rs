//! Connections to a SQLite file that this process owns.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use futures::{TryStreamExt, join};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteSynchronous};
use sqlx::{ConnectOptions, Executor, Row};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::statements::{APPEND, IS_OURS, STATEMENTS};
use crate::store::sql::{
    Append, Arg, Connection, Connector, DriverError, Each, OpenError, Part, RowReader, Statements, StoreOptions, Table,
    affected_rows, page, prepared, rows,
};

/// Maximum number of rows in one `INSERT`. Such statements are cached, one for each power of two up to this.
const ROWS: usize = 128;

/// The names of the types of integers in results.
const INT_TYPES: &[&str] = &["INTEGER"];

/// Suffix of the file that will replace the database.
pub(crate) const RESTORING: &str = ".restoring";

/// SQLite's codes for "another connection has the file", and for "the disk is full".
const SQLITE_BUSY: i32 = 5;
const SQLITE_FULL: i32 = 13;

/// Classifies an error. [`SqliteDatabase::append`] handles a failed commit.
fn driver_error(error: sqlx::Error) -> DriverError {
    match error {
        // The inserted row exists already.
        sqlx::Error::Database(error) if error.is_unique_violation() => DriverError::Conflict,
        sqlx::Error::Database(error) => DriverError::Rejected(error.message().to_owned()),
        error => DriverError::Lost(error.to_string()),
    }
}

/// Whether a commit that ended with this error certainly did not happen: it was not allowed to begin, or the disk had
/// no space for the record that completes it, which is written last.
fn is_undone(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code()).and_then(|code| code.parse::<i32>().ok());
    // The higher bits give details of the cause.
    code.is_some_and(|code| [SQLITE_BUSY, SQLITE_FULL].contains(&(code & 0xff)))
}

/// Opens connections to a file that this process owns.
pub(crate) struct SqliteConnector {
    options: SqliteConnectOptions,
    bound: std::time::Duration,
    /// An idle connection. When the last connection closes, SQLite removes the files beside the database, and on a full
    /// disk they could not be created again, not even to read.
    anchor: Mutex<Option<SqliteConnection>>,
    /// Locked until all connections are closed.
    lock: Arc<Possession>,
}

impl SqliteConnector {
    /// Takes possession of the file.
    pub(crate) fn new(path: PathBuf, options: &StoreOptions) -> Result<Self, OpenError> {
        let lock = take_possession(&path)?;
        let half = beside(&path, RESTORING);
        if half.exists() {
            let help = "a restore is incomplete: restore again";
            return Err(OpenError::Unavailable(format!("{}: {help}", half.display())));
        }
        let sqlite = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(options.statement_timeout)
            .disable_statement_logging();
        let (bound, anchor) = (options.connect_timeout, Mutex::default());
        Ok(Self { options: sqlite, bound, anchor, lock: Arc::new(lock) })
    }

    async fn open(&self) -> Result<SqliteConnection, sqlx::Error> {
        let mut connection = self.options.connect().await?;
        if connection.fetch_optional(IS_OURS).await?.is_some() {
            connection.execute("PRAGMA journal_mode = WAL").await?;
        }
        Ok(connection)
    }

    async fn open_anchored(&self) -> Result<SqliteConnection, sqlx::Error> {
        let mut anchor = self.anchor.lock().await;
        if anchor.is_none() {
            *anchor = Some(self.open().await?);
        }
        self.open().await
    }
}

/// The path with `added` appended to the file name.
pub(crate) fn beside(path: &Path, added: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(added);
    PathBuf::from(name)
}

/// The lock on a file that this process owns. It is released explicitly: a child process that another thread has just
/// forked shares it until it executes its program.
pub(crate) struct Possession(File);

impl Drop for Possession {
    fn drop(&mut self) {
        // If it fails, closing the file releases the lock.
        let _ = self.0.unlock();
    }
}

/// Locks the file for this process, until the returned lock is dropped.
pub(crate) fn take_possession(path: &Path) -> Result<Possession, OpenError> {
    let lock_path = beside(path, ".lock");
    let failed = |error: std::io::Error| OpenError::Unavailable(format!("{}: {error}", lock_path.display()));
    let lock = File::options().create(true).truncate(false).write(true).open(&lock_path).map_err(failed)?;
    match lock.try_lock() {
        Ok(()) => Ok(Possession(lock)),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse(path.to_owned())),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

#[async_trait]
impl Connector for SqliteConnector {
    async fn connect(&self) -> Result<Box<dyn Connection>, DriverError> {
        let inner = match timeout(self.bound, self.open_anchored()).await {
            Ok(connected) => connected.map_err(|error| DriverError::Rejected(error.to_string()))?,
            Err(_) => return Err(DriverError::Rejected("the file could not be opened in time".to_owned())),
        };
        Ok(Box::new(SqliteDatabase { inner, ahead: None, _lock: self.lock.clone() }))
    }
}

/// A connection to the file.
struct SqliteDatabase {
    inner: SqliteConnection,
    ahead: Option<Ahead>,
    _lock: Arc<Possession>,
}

/// A page that was found before it was asked for, in the current transaction.
struct Ahead {
    sql: &'static str,
    part: Part,
    page: String,
}

impl SqliteDatabase {
    async fn page(&mut self, sql: &'static str, part: &Part) -> Result<String, DriverError> {
        let found = prepared(sql, &part.args()).fetch_one(&mut self.inner).await.map_err(driver_error)?;
        let page: Option<String> = found.try_get(0).map_err(|error| DriverError::Unreadable(error.to_string()))?;
        Ok(page.unwrap_or_default())
    }
}

#[async_trait]
impl Connection for SqliteDatabase {
    fn sql(&self) -> &'static Statements {
        &STATEMENTS
    }

    async fn execute(&mut self, sql: &'static str, args: &[Arg<'_>]) -> Result<u64, DriverError> {
        let done = prepared(sql, args).execute(&mut self.inner).await;
        done.map(|done| done.rows_affected()).map_err(driver_error)
    }

    async fn rows(&mut self, sql: &'static str, args: &[Arg<'_>], each: &mut Each<'_>) -> Result<(), DriverError> {
        let mut rows = prepared(sql, args).fetch(&mut self.inner);
        let mut reader = RowReader::new(INT_TYPES, each);
        while let Some(row) = rows.try_next().await.map_err(driver_error)? {
            reader.read(&row);
        }
        reader.end()
    }

    /// While the rows of a page are decoded here, SQLite's thread finds the next page.
    async fn load(&mut self, sql: &'static str, part: &Part, each: &mut Each<'_>) -> Result<(), DriverError> {
        let page = match self.ahead.take().filter(|ahead| ahead.sql == sql && ahead.part == *part) {
            Some(ahead) => ahead.page,
            None => self.page(sql, part).await?,
        };
        let Some(last) = page::last(&page, part.limit)? else { return page::read(&page, each) };
        let next = part.after(&last);
        let (found, read) = join!(self.page(sql, &next), async { page::read(&page, each) });
        read?;
        self.ahead = Some(Ahead { sql, part: next, page: found? });
        Ok(())
    }

    /// A page is one text, which is decoded faster while it fits into a processor's cache.
    fn largest_part(&self) -> usize {
        rows::CHUNK
    }

    async fn insert(&mut self, table: &'static Table, cells: &[Arg<'_>]) -> Result<(), DriverError> {
        let width = table.columns.len();
        let (mut rest, mut rows) = (cells, ROWS);
        while !rest.is_empty() {
            while rows * width > rest.len() {
                rows /= 2;
            }
            let (next, later) = rest.split_at(rows * width);
            prepared(&insert(table, rows), next).execute(&mut self.inner).await.map_err(driver_error)?;
            rest = later;
        }
        Ok(())
    }

    async fn script(&mut self, sql: &'static str) -> Result<(), DriverError> {
        // It may begin or end a transaction.
        self.ahead = None;
        self.inner.execute(sql).await.map(drop).map_err(driver_error)
    }

    /// Sends four statements together, since each exchange passes to another thread and back. A transaction that an
    /// error leaves open ends with its connection.
    async fn append(&mut self, append: &Append<'_>) -> Result<bool, DriverError> {
        let query = prepared(APPEND.of(append.head), &append.args());
        let (met, ended) = affected_rows(self.inner.fetch_many(query), |done| done.rows_affected()).await;
        match (ended, met.as_slice()) {
            (Ok(()), [_, moved, _, _]) => Ok(*moved == 1),
            (Ok(()), _) => Err(DriverError::Lost(format!("4 results expected, not {}", met.len()))),
            // The disk failed at some point of the commit: only reading the file again shows whether it took effect.
            (Err(error), [_, _, _]) if !is_undone(&error) => Err(DriverError::Lost(error.to_string())),
            (Err(error), _) => Err(driver_error(error)),
        }
    }
}

/// A statement that inserts `rows` rows.
fn insert(table: &Table, rows: usize) -> String {
    let row = format!("({})", vec!["?"; table.columns.len()].join(", "));
    format!("INSERT INTO {} ({}) VALUES {}", table.name, table.columns.join(", "), vec![row; rows].join(", "))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::store::StoreCounts;
    use crate::store::sql::{Cell, Pool, Row};

    #[tokio::test]
    async fn row_that_cannot_be_decoded_keeps_the_connection() {
        let folder = tempfile::tempdir().expect("a folder");
        let options = StoreOptions::new("sqlite:");
        let connector = SqliteConnector::new(folder.path().join("tenure.db"), &options).expect("it is not locked");
        let (generation, counts) = (Arc::<AtomicU64>::default(), StoreCounts::default().pool("reads", 1));
        let pool = Pool::new(Arc::new(connector), 1, options.statement_timeout, generation.clone(), counts);
        let mut connection = pool.take().await.expect("a connection");
        // Only this connection has the table.
        connection.script("CREATE TEMP TABLE kept (value INTEGER)").await.expect("a table");
        let sql = "SELECT 'one' AS label UNION ALL SELECT CAST(x'ff' AS TEXT) UNION ALL SELECT 'three'";
        let outcome = connection.fetch(sql, &[]).await;
        assert!(
            matches!(&outcome, Err(DriverError::Unreadable(reason)) if reason.starts_with("row 2, column label: ")),
            "{outcome:?}"
        );
        drop(connection);
        let mut connection = pool.take().await.expect("a connection");
        assert_eq!(connection.fetch("SELECT value FROM kept", &[]).await, Ok(vec![]));
        assert_eq!(generation.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn page_found_ahead_does_not_outlive_its_transaction() {
        let folder = tempfile::tempdir().expect("a folder");
        let connector = SqliteConnector::new(folder.path().join("tenure.db"), &StoreOptions::new("sqlite:"));
        let mut connection = connector.expect("it is not locked").connect().await.expect("a connection");
        connection.script("CREATE TEMP TABLE kept (value); INSERT INTO kept VALUES (1), (2)").await.expect("a table");
        let sql = "SELECT group_concat(json_array(value), char(10)) \
                   FROM (SELECT * FROM kept WHERE ? = 'n' AND value > ? ORDER BY value LIMIT ?)";
        let part = |key: i64| Part { namespace: "n".to_owned(), key: vec![Cell::Int(key)], limit: 1 };
        let mut read = Vec::new();
        let mut each = |row: &Row<'_>| row.int(0).map(|value| read.push(value));
        connection.script("BEGIN").await.expect("begun");
        connection.load(sql, &part(0), &mut each).await.expect("a row");
        connection.script("ROLLBACK").await.expect("rolled back");
        connection.script("UPDATE kept SET value = 3 WHERE value = 2").await.expect("changed");
        connection.load(sql, &part(1), &mut each).await.expect("a row");
        assert_eq!(read, [1, 3]);
    }

    #[test]
    fn possession_ends_although_a_forked_process_shares_the_lock() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tenure.db");
        let possession = take_possession(&path).expect("not locked");
        let shared = possession.0.try_clone().expect("duplicated");
        assert!(matches!(take_possession(&path), Err(OpenError::InUse(_))));
        drop(possession);
        take_possession(&path).expect("released");
        drop(shared);
    }
}
