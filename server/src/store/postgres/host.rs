//! Connections to a PostgreSQL server.

use async_trait::async_trait;
use futures::TryStreamExt;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Executor};

use super::copy::{copy, lines};
use super::error::{driver_error, unreached};
use super::flavours::{ASK_IDENTITY, DIRECT_NATIVE, Flavour, NATIVE, REMEMBER_IDENTITY, UNKNOWN};
use super::probe::{UNCONFIRMED, answer, probe};
use super::warnings::with_warnings;
use crate::store::sql::literal::with_literals;
use crate::store::sql::{
    Append, Arg, Connection, Connector, DriverError, Each, Host, OpenError, RowReader, Statements, StoreOptions, Table,
    prepared,
};

/// A setting that only a connection without a pooler keeps.
pub(crate) const DIRECT: &str = "tenure.direct";

/// The names of the types of integers in results.
const INT_TYPES: &[&str] = &["INT8", "INT4"];

/// A host that may be the database.
pub(crate) struct PostgresHost {
    options: PgConnectOptions,
    pub(crate) store: StoreOptions,
}

impl PostgresHost {
    /// Parses a URL with one host.
    pub(crate) fn new(url: &str, options: &StoreOptions) -> Result<Host<Self>, OpenError> {
        let parsed: PgConnectOptions =
            url.parse().map_err(|_| OpenError::Url("must be postgres://user:password@host:port/name"))?;
        let name = format!("{}:{}", parsed.get_host(), parsed.get_port());
        let host = Self {
            // Poolers reject parameters that they do not know, and Tenure uses no fractional numbers.
            options: parsed.application_name("tenured").extra_float_digits(None).disable_statement_logging(),
            store: options.clone(),
        };
        Ok((name, host))
    }

    /// Options of a connection without a pooler. The server's timeout is shorter than the client's, so that the client
    /// learns that the server has cancelled.
    pub(crate) fn direct_options(&self) -> PgConnectOptions {
        let bound = (self.store.statement_timeout * 9 / 10).as_millis().max(1).to_string();
        self.options.clone().options([
            (DIRECT, "on"),
            ("statement_timeout", &bound),
            ("idle_in_transaction_session_timeout", &bound),
        ])
    }

    async fn open(&self) -> Result<PostgresDatabase, DriverError> {
        let mut inner = match self.direct_options().connect().await {
            Err(sqlx::Error::Database(_)) => self.options.connect().await,
            connected => connected,
        }
        .map_err(unreached)?;
        let direct = probe(&mut inner, self.store.allow_unsafe_durability).await?;
        let known = answer(&mut inner, if direct { REMEMBER_IDENTITY } else { ASK_IDENTITY }, direct).await?;
        let flavour = match (known, direct) {
            (Some(_), true) => &*DIRECT_NATIVE,
            (Some(_), false) => &NATIVE,
            (None, _) => &UNKNOWN,
        };
        Ok(PostgresDatabase {
            inner,
            flavour,
            is_direct: direct,
            prepared_statements: direct && self.store.prepared_statements,
        })
    }

    /// Whether the connection can receive notifications, which needs one without a pooler.
    pub(crate) async fn can_listen(&self) -> Result<bool, DriverError> {
        Ok(self.open().await?.is_direct)
    }
}

#[async_trait]
impl Connector for PostgresHost {
    async fn connect(&self) -> Result<Box<dyn Connection>, DriverError> {
        Ok(Box::new(self.open().await?))
    }
}

/// A connection to the database.
struct PostgresDatabase {
    inner: PgConnection,
    flavour: &'static Flavour,
    is_direct: bool,
    /// If false, arguments are written into the statements: the session that prepared a statement in one transaction
    /// may not be the session of the next transaction.
    prepared_statements: bool,
}

#[async_trait]
impl Connection for PostgresDatabase {
    fn sql(&self) -> &'static Statements {
        &self.flavour.statements
    }

    async fn execute(&mut self, sql: &'static str, args: &[Arg<'_>]) -> Result<u64, DriverError> {
        let done = if self.prepared_statements {
            prepared(sql, args).execute(&mut self.inner).await
        } else {
            self.inner.execute(&*with_literals(sql, args, "E'")).await
        };
        done.map(|done| done.rows_affected()).map_err(driver_error)
    }

    async fn rows(&mut self, sql: &'static str, args: &[Arg<'_>], each: &mut Each<'_>) -> Result<(), DriverError> {
        let literal;
        let mut rows = if self.prepared_statements {
            prepared(sql, args).fetch(&mut self.inner)
        } else {
            literal = with_literals(sql, args, "E'");
            self.inner.fetch(&*literal)
        };
        let mut reader = RowReader::new(INT_TYPES, each);
        while let Some(row) = rows.try_next().await.map_err(driver_error)? {
            reader.read(&row);
        }
        reader.end()
    }

    /// `COPY` takes the database about a quarter of the time of a statement with the rows as JSON.
    async fn insert(&mut self, table: &'static Table, cells: &[Arg<'_>]) -> Result<(), DriverError> {
        let mut copying = self.inner.copy_in_raw(&copy(table)).await.map_err(driver_error)?;
        copying.send(lines(table, cells)).await.map_err(driver_error)?;
        copying.finish().await.map(drop).map_err(driver_error)
    }

    async fn script(&mut self, sql: &'static str) -> Result<(), DriverError> {
        self.inner.execute(sql).await.map(drop).map_err(driver_error)
    }

    /// Uses one statement, so one round trip. It returns or inserts a row only if the head was moved.
    async fn append(&mut self, append: &Append<'_>) -> Result<bool, DriverError> {
        let flavour = self.flavour;
        let sql = if append.notify { &flavour.append_and_notify } else { &flavour.append }.of(append.head);
        match with_warnings(self.execute(sql, &append.args())).await {
            (Ok(_), true) => Err(DriverError::Lost(UNCONFIRMED.to_owned())),
            (met, _) => Ok(met? == 1),
        }
    }
}
