//! What the stores of SQL need of a database driver, and no more.

use std::borrow::Cow;

use async_trait::async_trait;

use super::statements::{HeadMove, Statements, Table};

/// A value passed to a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arg<'a> {
    Null,
    Int(i64),
    Text(&'a str),
}

/// A value that a statement gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell<'a> {
    Null,
    Int(i64),
    Text(Cow<'a, str>),
}

/// A row that a statement gave. A column that is not what the statement is known to give is a refusal.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Row<'a>(pub(crate) Vec<Cell<'a>>);

impl<'a> Row<'a> {
    /// A row of so many columns.
    pub(crate) fn read<E>(columns: usize, cell: impl Fn(usize) -> Result<Cell<'a>, E>) -> Result<Self, E> {
        let mut cells = Vec::with_capacity(columns);
        for column in 0..columns {
            cells.push(cell(column)?);
        }
        Ok(Self(cells))
    }

    /// The same, for longer than the answer that it was read from.
    pub(crate) fn into_owned(self) -> Row<'static> {
        let owned = |cell| match cell {
            Cell::Null => Cell::Null,
            Cell::Int(value) => Cell::Int(value),
            Cell::Text(text) => Cell::Text(Cow::Owned(text.into_owned())),
        };
        Row(self.0.into_iter().map(owned).collect())
    }

    pub(crate) fn is_null(&self, column: usize) -> bool {
        matches!(self.0.get(column), Some(Cell::Null))
    }

    pub(crate) fn int(&self, column: usize) -> Result<i64, Failure> {
        match self.0.get(column) {
            Some(Cell::Int(value)) => Ok(*value),
            other => Err(Failure::Refused(format!("column {column} is no number but {other:?}"))),
        }
    }

    pub(crate) fn text(&self, column: usize) -> Result<&str, Failure> {
        match self.0.get(column) {
            Some(Cell::Text(value)) => Ok(value),
            other => Err(Failure::Refused(format!("column {column} is no text but {other:?}"))),
        }
    }
}

/// Why a statement failed, told apart by what it means for the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Rolled back because of what others did at the same time.
    Conflict,
    /// Surely without effect.
    Refused(String),
    /// Surely without effect: this host takes no writes or is going down, but another may be there.
    Away(String),
    /// Not connected, because what this database commits is not durable.
    Unsafe(String),
    /// Nothing done, because the database has tables or views of these names that others made. With what Tenure needs instead.
    Foreign(String, &'static str),
    /// The connection is lost, or silent for too long. What was sent may have been done, or may yet be.
    Lost(String),
}

impl Failure {
    /// The reason, for people.
    pub(crate) fn reason(self) -> String {
        match self {
            Self::Conflict => "rolled back because of other transactions".to_owned(),
            Self::Refused(reason) | Self::Away(reason) | Self::Unsafe(reason) | Self::Lost(reason) => reason,
            Self::Foreign(names, _) => format!("the database has {names}, not made by Tenure"),
        }
    }
}

/// What is done with each row of an answer.
pub(crate) type Each<'e> = dyn FnMut(&Row<'_>) -> Result<(), Failure> + Send + 'e;

/// A batch, ready to be written.
#[derive(Debug)]
pub(crate) struct Append<'a> {
    pub(crate) head: HeadMove,
    pub(crate) namespace: &'a str,
    pub(crate) previous: i64,
    pub(crate) revision: i64,
    pub(crate) server: i64,
    pub(crate) number: i64,
    pub(crate) at_ms: i64,
    pub(crate) events: &'a str,
    pub(crate) notify: bool,
}

/// A connection to a database.
#[async_trait]
pub(crate) trait Connection: Send {
    /// The statements that this database understands.
    fn sql(&self) -> &'static Statements;

    /// Executes a statement and returns the number of rows that it met.
    async fn execute(&mut self, sql: &'static str, args: &[Arg<'_>]) -> Result<u64, Failure>;

    /// Executes a statement and returns its rows.
    async fn fetch(&mut self, sql: &'static str, args: &[Arg<'_>]) -> Result<Vec<Row<'static>>, Failure>;

    /// Executes one of the statements that load a page of a table, and shows its rows one after the other.
    async fn load(&mut self, sql: &'static str, args: &[Arg<'_>], each: &mut Each<'_>) -> Result<(), Failure>;

    /// Inserts rows, as many as `cells` has for all columns of the table, within the transaction that is under way. Within the
    /// bounds of [`rows::statements`](super::rows::statements).
    async fn insert(&mut self, table: &'static Table, cells: &[Arg<'_>]) -> Result<(), Failure>;

    /// Executes statements separated by `;`, without arguments.
    async fn script(&mut self, sql: &'static str) -> Result<(), Failure>;

    /// Appends a batch in a transaction of its own. False, and nothing done, if the head is not where it should be.
    async fn append(&mut self, append: &Append<'_>) -> Result<bool, Failure>;
}

/// Makes connections to the database that takes writes, among the hosts that are configured.
#[async_trait]
pub(crate) trait Connector: Send + Sync + 'static {
    /// Connects. Bounded in time.
    async fn connect(&self) -> Result<Box<dyn Connection>, Failure>;
}
