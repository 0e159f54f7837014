//! Connections to a MySQL or MariaDB server.

use async_trait::async_trait;
use futures::TryStreamExt;
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::{ConnectOptions, Executor, Row as _};

use super::append::{at_once, one_by_one};
use super::error::{driver_error, understood, unreached};
use super::flavours::{FACTS, FLAVOURS, Flavour, READ_COMMITTED_BY_ALL, read_committed_by_group, settings};
use crate::store::sql::{
    Append, Arg, Connection, Connector, DriverError, Each, HeadMove, Host, OpenError, RowReader, Statements,
    StoreOptions, Table, literal, prepared,
};

/// The names of the types of integers in results.
const INT_TYPES: &[&str] = &["BIGINT", "INT", "BOOLEAN", "TINYINT"];

/// A host that may be the database.
pub(crate) struct MySqlHost {
    options: MySqlConnectOptions,
    store: StoreOptions,
}

impl MySqlHost {
    /// Parses a URL with one host.
    pub(crate) fn new(url: &str, options: &StoreOptions) -> Result<Host<Self>, OpenError> {
        let parsed: MySqlConnectOptions =
            url.parse().map_err(|_| OpenError::Url("must be mysql://user:password@host:port/name"))?;
        let name = format!("{}:{}", parsed.get_host(), parsed.get_port());
        let host = Self {
            options: parsed.charset("utf8mb4").collation("utf8mb4_bin").disable_statement_logging(),
            store: options.clone(),
        };
        Ok((name, host))
    }

    async fn open(&self) -> Result<MySqlDatabase, DriverError> {
        let mut inner = self.options.connect().await.map_err(unreached)?;
        inner.execute(&*settings(self.store.statement_timeout)).await.map_err(unreached)?;
        let rows = inner.fetch_all(FACTS).await.map_err(unreached)?;
        let fact = |column: usize| -> String {
            rows.first().and_then(|row| row.try_get_unchecked(column).ok()).unwrap_or_default()
        };
        // Whether a switch is shown as a number or as a word depends on the server and on the switch.
        if !matches!(&*fact(0), "0" | "OFF") {
            return Err(DriverError::ReadOnly("the database rejects writes".to_owned()));
        }
        if !self.store.allow_unsafe_durability {
            if fact(1) != "1" {
                return Err(DriverError::Unsafe(format!("innodb_flush_log_at_trx_commit is {}, not 1", fact(1))));
            }
            if !matches!(&*fact(2), "0" | "OFF") && fact(3) != "1" {
                return Err(DriverError::Unsafe(format!("sync_binlog is {}, not 1", fact(3))));
            }
        }
        understood(inner.execute(READ_COMMITTED_BY_ALL).await)?;
        understood(inner.execute(&*read_committed_by_group(self.store.statement_timeout)).await)?;
        for (question, flavour) in &*FLAVOURS {
            if understood(inner.fetch_all(*question).await)?.is_some_and(|rows| !rows.is_empty()) {
                let compound = understood(inner.prepare(flavour.append_at_once).await.map(drop))?.is_some();
                // It is only reported: whatever the answer is, the database can be used.
                let semi_sync = inner.fetch_all(flavour.semi_sync_lapsed).await.is_ok();
                return Ok(MySqlDatabase { inner, flavour, compound, semi_sync });
            }
        }
        Err(DriverError::Rejected("cannot identify the database server".to_owned()))
    }
}

#[async_trait]
impl Connector for MySqlHost {
    async fn connect(&self) -> Result<Box<dyn Connection>, DriverError> {
        Ok(Box::new(self.open().await?))
    }
}

/// A connection to the database.
struct MySqlDatabase {
    inner: MySqlConnection,
    flavour: &'static Flavour,
    /// Whether the server can prepare a compound statement, as MariaDB can.
    compound: bool,
    /// Whether the server knows semi-synchronous replication, as MySQL does with a plugin.
    semi_sync: bool,
}

#[async_trait]
impl Connection for MySqlDatabase {
    fn sql(&self) -> &'static Statements {
        &self.flavour.statements
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

    async fn insert(&mut self, table: &'static Table, cells: &[Arg<'_>]) -> Result<(), DriverError> {
        self.inner.execute(&*literal::insert(table, cells, "'")).await.map(drop).map_err(driver_error)
    }

    async fn script(&mut self, sql: &'static str) -> Result<(), DriverError> {
        self.inner.execute(sql).await.map(drop).map_err(driver_error)
    }

    async fn append(&mut self, append: &Append<'_>) -> Result<bool, DriverError> {
        if append.head == HeadMove::Advance && self.compound {
            return at_once(&mut self.inner, self.flavour.append_at_once, append).await;
        }
        one_by_one(&mut self.inner, self.flavour.append.of(append.head), append).await
    }

    async fn has_semi_sync_lapsed(&mut self) -> Result<bool, DriverError> {
        if !self.semi_sync {
            return Ok(false);
        }
        let rows = self.inner.fetch_all(self.flavour.semi_sync_lapsed).await.map_err(driver_error)?;
        Ok(!rows.is_empty())
    }
}
