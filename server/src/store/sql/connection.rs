//! The interface to a database driver, limited to the needs of the SQL stores.

use std::borrow::Cow;

use async_trait::async_trait;
use sqlx::{Column, ColumnIndex, Decode, TypeInfo, ValueRef};

use super::rows::{CHUNK, count};
use super::statements::{HeadMove, Statements, Table};
use crate::store::Batch;

/// A value passed to a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arg<'a> {
    Null,
    Int(i64),
    Text(&'a str),
}

/// A value returned by a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell<'a> {
    Null,
    Int(i64),
    Text(Cow<'a, str>),
}

impl Cell<'_> {
    /// The same value, to be passed to a statement.
    pub(crate) fn as_arg(&self) -> Arg<'_> {
        match self {
            Self::Null => Arg::Null,
            Self::Int(value) => Arg::Int(*value),
            Self::Text(text) => Arg::Text(text),
        }
    }

    /// Copies the value.
    pub(crate) fn to_owned(&self) -> Cell<'static> {
        match self {
            Self::Null => Cell::Null,
            Self::Int(value) => Cell::Int(*value),
            Self::Text(text) => Cell::Text(Cow::Owned(text.to_string())),
        }
    }
}

/// A row returned by a statement. A column of an unexpected type is a [`DriverError::Unreadable`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row<'a>(pub(crate) Vec<Cell<'a>>);

impl<'a> Row<'a> {
    /// Reads a row, the `number`th of its result, of a driver whose integers have one of these types.
    fn read<R>(row: &'a R, number: usize, int_types: &[&str]) -> Result<Self, DriverError>
    where
        R: sqlx::Row,
        usize: ColumnIndex<R>,
        i64: Decode<'a, R::Database>,
        &'a str: Decode<'a, R::Database>,
    {
        let mut cells = Vec::with_capacity(row.len());
        for column in 0..row.len() {
            let unreadable = |error: sqlx::Error| {
                DriverError::Unreadable(format!("row {number}, column {}: {error}", row.column(column).name()))
            };
            let value = row.try_get_raw(column).map_err(unreadable)?;
            cells.push(if value.is_null() {
                Cell::Null
            } else if int_types.contains(&value.type_info().name()) {
                Cell::Int(row.try_get_unchecked(column).map_err(unreadable)?)
            } else {
                Cell::Text(Cow::Borrowed(row.try_get_unchecked(column).map_err(unreadable)?))
            });
        }
        Ok(Self(cells))
    }

    /// Copies the row, so that it outlives the result that it was read from.
    pub(crate) fn to_owned(&self) -> Row<'static> {
        Row(self.0.iter().map(Cell::to_owned).collect())
    }

    pub(crate) fn is_null(&self, column: usize) -> bool {
        matches!(self.0.get(column), Some(Cell::Null))
    }

    pub(crate) fn int(&self, column: usize) -> Result<i64, DriverError> {
        match self.0.get(column) {
            Some(Cell::Int(value)) => Ok(*value),
            other => Err(DriverError::Unreadable(format!("column {column} must be a number, not {other:?}"))),
        }
    }

    pub(crate) fn text(&self, column: usize) -> Result<&str, DriverError> {
        match self.0.get(column) {
            Some(Cell::Text(value)) => Ok(value),
            other => Err(DriverError::Unreadable(format!("column {column} must be a text, not {other:?}"))),
        }
    }
}

/// Passes the rows of a result to a callback, up to the first one that cannot be decoded.
pub(crate) struct RowReader<'r, 'e> {
    int_types: &'static [&'static str],
    each: &'r mut Each<'e>,
    number: usize,
    outcome: Result<(), DriverError>,
}

impl<'r, 'e> RowReader<'r, 'e> {
    /// Creates a reader of a driver whose integers have one of these types.
    pub(crate) fn new(int_types: &'static [&'static str], each: &'r mut Each<'e>) -> Self {
        Self { int_types, each, number: 0, outcome: Ok(()) }
    }

    /// Reads the next row. A failure does not end the result: [`Self::end`] returns it once the result is complete, so
    /// that the connection can be used again.
    pub(crate) fn read<'a, R>(&mut self, row: &'a R)
    where
        R: sqlx::Row,
        usize: ColumnIndex<R>,
        i64: Decode<'a, R::Database>,
        &'a str: Decode<'a, R::Database>,
    {
        self.number += 1;
        if self.outcome.is_ok() {
            self.outcome = Row::read(row, self.number, self.int_types).and_then(|row| (self.each)(&row));
        }
    }

    /// Whether all rows were decoded.
    pub(crate) fn end(self) -> Result<(), DriverError> {
        self.outcome
    }
}

/// Why a statement failed, classified by the consequence for the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DriverError {
    /// Rolled back because of concurrent transactions.
    Conflict,
    /// The statement certainly had no effect.
    Rejected(String),
    /// The statement certainly had no effect: this host takes no writes or is shutting down, but another may be
    /// available.
    ReadOnly(String),
    /// Not connected, because the commits of this database are not durable.
    Unsafe(String),
    /// The statement was completed, but a returned row cannot be decoded. The connection can be used again.
    Unreadable(String),
    /// The connection is lost, or silent for too long. The statements sent may have taken effect, or still may.
    Lost(String),
}

impl DriverError {
    /// The reason, for display.
    pub(crate) fn reason(self) -> String {
        match self {
            Self::Conflict => "rolled back because of other transactions".to_owned(),
            Self::Rejected(reason)
            | Self::ReadOnly(reason)
            | Self::Unsafe(reason)
            | Self::Unreadable(reason)
            | Self::Lost(reason) => reason,
        }
    }
}

/// A callback for each row of a result.
pub(crate) type Each<'e> = dyn FnMut(&Row<'_>) -> Result<(), DriverError> + Send + 'e;

/// A batch, encoded for writing.
#[derive(Debug)]
pub(crate) struct Append<'a> {
    pub(crate) head: HeadMove,
    pub(crate) batch: &'a Batch,
    /// The events of the batch as JSON.
    pub(crate) events: &'a str,
    pub(crate) notify: bool,
}

impl<'a> Append<'a> {
    /// (revision, namespace, previous, server, number, at_ms, events)
    pub(crate) fn args(&self) -> [Arg<'a>; 7] {
        let batch = self.batch;
        [
            Arg::Int(batch.revision().0.cast_signed()),
            Arg::Text(&batch.namespace),
            Arg::Int(batch.previous.0.cast_signed()),
            Arg::Int(batch.server.0.cast_signed()),
            Arg::Int(batch.number.cast_signed()),
            Arg::Int(batch.at_ms),
            Arg::Text(self.events),
        ]
    }
}

/// A part of a table: the rows of a namespace that follow a key, in the order of their keys, up to a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) namespace: String,
    /// The key of a row is its first columns.
    pub(crate) key: Vec<Cell<'static>>,
    pub(crate) limit: usize,
}

impl Part {
    /// The first of two columns of a key is compared twice: with equal keys and with greater ones.
    pub(crate) fn args(&self) -> Vec<Arg<'_>> {
        let key: Vec<Arg<'_>> = self.key.iter().map(Cell::as_arg).collect();
        [&[Arg::Text(&self.namespace)][..], &key[..key.len() - 1], &key[..], &[count(self.limit)][..]].concat()
    }

    /// The part that follows a row.
    pub(crate) fn after(&self, row: &Row<'_>) -> Self {
        let key = row.0.iter().take(self.key.len()).map(Cell::to_owned).collect();
        Self { key, ..self.clone() }
    }
}

/// A connection to a database.
#[async_trait]
pub(crate) trait Connection: Send {
    /// The statements that this database understands.
    fn sql(&self) -> &'static Statements;

    /// Executes a statement and returns the number of affected rows.
    async fn execute(&mut self, sql: &'static str, args: &[Arg<'_>]) -> Result<u64, DriverError>;

    /// Executes a statement and passes its rows to `each` one by one.
    async fn rows(&mut self, sql: &'static str, args: &[Arg<'_>], each: &mut Each<'_>) -> Result<(), DriverError>;

    /// Executes a statement and returns its rows.
    async fn fetch(&mut self, sql: &'static str, args: &[Arg<'_>]) -> Result<Vec<Row<'static>>, DriverError> {
        let mut rows = Vec::new();
        let mut push = |row: &Row<'_>| {
            rows.push(row.to_owned());
            Ok(())
        };
        self.rows(sql, args, &mut push).await?;
        Ok(rows)
    }

    /// Executes one of the statements that load a part of a table, and passes its rows to `each` one by one.
    async fn load(&mut self, sql: &'static str, part: &Part, each: &mut Each<'_>) -> Result<(), DriverError> {
        self.rows(sql, &part.args(), each).await
    }

    /// The maximum number of rows of such a part. In a large one, the database finds rows while others are decoded.
    fn largest_part(&self) -> usize {
        16 * CHUNK
    }

    /// Inserts the rows in `cells`, which has values for all columns of the table, within the current transaction and
    /// the bounds of [`rows::statements`](super::rows::statements).
    async fn insert(&mut self, table: &'static Table, cells: &[Arg<'_>]) -> Result<(), DriverError>;

    /// Executes statements separated by `;`, without arguments.
    async fn script(&mut self, sql: &'static str) -> Result<(), DriverError>;

    /// Appends a batch in a transaction of its own. Returns false, and changes nothing, if the head is not at the
    /// expected revision.
    async fn append(&mut self, append: &Append<'_>) -> Result<bool, DriverError>;

    /// Whether commits are to wait for a replica (semi-synchronous replication), and no longer do.
    async fn has_semi_sync_lapsed(&mut self) -> Result<bool, DriverError> {
        Ok(false)
    }
}

/// Connects to the database that takes writes, among the configured hosts.
#[async_trait]
pub(crate) trait Connector: Send + Sync + 'static {
    /// Connects, within a time limit. [`Hosts`](super::hosts::Hosts) applies it to the connector of each host.
    async fn connect(&self) -> Result<Box<dyn Connection>, DriverError>;
}
