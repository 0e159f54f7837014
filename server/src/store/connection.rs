//! What the stores of SQL need of a database driver, and no more.

use std::borrow::Cow;

use async_trait::async_trait;

use super::migrations::Migration;

/// A value passed to a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arg<'a> {
    Null,
    Int(i64),
    Text(&'a str),
}

/// A value that a statement gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cell<'a> {
    Null,
    Int(i64),
    Text(Cow<'a, str>),
}

/// A row that a statement gave. A column that is not what the statement is known to give is a refusal.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Row<'a>(pub(super) Vec<Cell<'a>>);

impl<'a> Row<'a> {
    /// A row of so many columns.
    pub(super) fn read<E>(columns: usize, cell: impl Fn(usize) -> Result<Cell<'a>, E>) -> Result<Self, E> {
        let mut cells = Vec::with_capacity(columns);
        for column in 0..columns {
            cells.push(cell(column)?);
        }
        Ok(Self(cells))
    }

    /// The same, for longer than the answer that it was read from.
    pub(super) fn into_owned(self) -> Row<'static> {
        let owned = |cell| match cell {
            Cell::Null => Cell::Null,
            Cell::Int(value) => Cell::Int(value),
            Cell::Text(text) => Cell::Text(Cow::Owned(text.into_owned())),
        };
        Row(self.0.into_iter().map(owned).collect())
    }

    pub(super) fn is_null(&self, column: usize) -> bool {
        matches!(self.0.get(column), Some(Cell::Null))
    }

    pub(super) fn int(&self, column: usize) -> Result<i64, Failure> {
        match self.0.get(column) {
            Some(Cell::Int(value)) => Ok(*value),
            other => Err(Failure::Refused(format!("column {column} is no number but {other:?}"))),
        }
    }

    pub(super) fn text(&self, column: usize) -> Result<&str, Failure> {
        match self.0.get(column) {
            Some(Cell::Text(value)) => Ok(value),
            other => Err(Failure::Refused(format!("column {column} is no text but {other:?}"))),
        }
    }
}

/// Why a statement failed, told apart by what it means for the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
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
    pub(super) fn reason(self) -> String {
        match self {
            Self::Conflict => "rolled back because of other transactions".to_owned(),
            Self::Refused(reason) | Self::Away(reason) | Self::Unsafe(reason) | Self::Lost(reason) => reason,
            Self::Foreign(names, _) => format!("the database has {names}, not made by Tenure"),
        }
    }
}

/// How the head is moved by an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeadMove {
    /// The namespace is new: create its head, if this is the database as it was made first.
    Create,
    /// The namespace is new, or was lost: create its head and make this database the head's.
    CreateAnew,
    /// Raise the revision, if the head was written on this database.
    Advance,
    /// Raise the revision and make this database the head's.
    Adopt,
}

/// A table that sums up the log, and its columns in the order in which they are written: the namespace first.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) columns: &'static [&'static str],
}

/// What is done with each row of an answer.
pub(super) type Each<'e> = dyn FnMut(&Row<'_>) -> Result<(), Failure> + Send + 'e;

/// A batch, ready to be written.
#[derive(Debug)]
pub(super) struct Append<'a> {
    pub(super) head: HeadMove,
    pub(super) namespace: &'a str,
    pub(super) previous: i64,
    pub(super) revision: i64,
    pub(super) server: i64,
    pub(super) number: i64,
    pub(super) at_ms: i64,
    pub(super) events: &'a str,
    pub(super) notify: bool,
}

/// The statements of a dialect. Arguments are in the order named here, whatever the dialect.
#[derive(Debug)]
pub(super) struct Statements {
    /// What this kind of database is called in traces.
    pub(super) system: &'static str,
    /// What makes the tables.
    pub(super) scripts: &'static [Migration],
    /// What makes them faster where the database can do that. Whether it can does not matter.
    pub(super) tune_tables: Option<&'static str>,
    /// Begins a transaction that writes.
    pub(super) begin: &'static str,
    /// Begins a transaction that reads, all of it as of one moment. Statements separated by `;`.
    pub(super) begin_snapshot: &'static str,
    /// (namespace, namespace, after, most batches, end) → head revision or null, rows' revision, 1 if the head was written
    /// on this database, the clock in ms; and for each batch, in any order, revision or null, previous, server, number, at_ms, events.
    pub(super) read: &'static str,
    /// (namespace, until) → revision of the newest batch that ends there or before
    pub(super) newest_batch: &'static str,
    /// (namespace, after, until, JSON text) → previous, server, number, at_ms, events of the batches that end there, newest
    /// first, and have this text in their events or declare a loss
    pub(super) search: &'static str,
    /// () → name, revision
    pub(super) heads: &'static str,
    /// (namespace) → the rows' revision, and that of the last loss of history that they sum up, or 0
    pub(super) rows_revision: &'static str,
    /// (namespace, opened to begin after, most) → opened, id, owner, ttl_ms, disconnect_grace_ms or null, home,
    /// attachment, identity or null, client or null, metadata
    pub(super) load_sessions: &'static str,
    /// (namespace, id and again id and position to begin after, most) → id, position, name, state, token or null, session,
    /// opened, owner, priority, min_hold_ms, home or null, mode, permits or null, permit_limit or null, transfer_to or null,
    /// transfer_started or null, drain_ms or null, awaited_at or null, metadata, granted_at_ms or null
    pub(super) load_claims: &'static str,
    /// (namespace, position to begin after, most) → position, name, permit_limit or null, settling_ms or null,
    /// drain_ms or null
    pub(super) load_settings: &'static str,
    /// (namespace, id to begin after, most) → id, name, membership, leader or null, token or null, config or null,
    /// config_revision or null, assigned or null, assigned_membership or null, assigned_config or null
    pub(super) load_groups: &'static str,
    /// (namespace, group_id and again group_id and number to begin after, most) → group_id, number, session, opened, owner,
    /// metadata, assignment or null
    pub(super) load_members: &'static str,
    /// (to, lost, namespace, from, namespace, to): the rows' compare-and-set
    pub(super) advance_rows: &'static str,
    /// (opened as JSON, namespace)
    pub(super) delete_sessions: &'static str,
    /// (ids as JSON, namespace)
    pub(super) delete_claims: &'static str,
    /// (namespace): all of them
    pub(super) delete_settings: &'static str,
    /// (ids as JSON, namespace)
    pub(super) delete_groups: &'static str,
    /// (ids of groups as JSON, namespace)
    pub(super) delete_members: &'static str,
    /// (beat, lease_ms, label, address, certificate, id): unless dead
    pub(super) beat: &'static str,
    /// (beat, lease_ms, label, address, certificate, id): unless there already
    pub(super) register: &'static str,
    /// () → id, beat, lease_ms, label, address, certificate, 1 if dead
    pub(super) servers: &'static str,
    /// (id, beat)
    pub(super) mark_dead: &'static str,
    /// (id)
    pub(super) outlive: &'static str,
    /// (ids as JSON): those that are dead
    pub(super) forget: &'static str,
    /// (namespace, after, most) → revision of the last of the oldest batches after that, or null, and the bytes of their events
    pub(super) measure: &'static str,
    /// (namespace, most) → revision, previous, at_ms, the rows' revision
    pub(super) oldest_batches: &'static str,
    /// (namespace, last revision)
    pub(super) delete_batches: &'static str,
    /// () → 1 if the table of migrations is there
    pub(super) migrations_exist: &'static str,
    /// Makes the table of migrations, unless it is there.
    pub(super) create_migrations: &'static str,
    /// Makes others wait who want to migrate, until the transaction or the connection ends.
    pub(super) lock_migrations: &'static str,
    /// (names as JSON) → those of them that relations of the database have, in the order of their names
    pub(super) relations: &'static str,
    /// What is to be done where the names of our tables are taken.
    pub(super) own_place: &'static str,
    /// () → number
    pub(super) migrations: &'static str,
    /// (number, name)
    pub(super) record_migration: &'static str,
    /// () → what the database says of when its tables were made, what it said of that before or null
    pub(super) birth: &'static str,
    /// (birth): on this database, unless there is a record of it or of another server
    pub(super) record_birth: &'static str,
    /// Make the database another one than that on which the heads were written, and than that on which namespaces may begin at 1.
    pub(super) disown: [&'static str; 2],
}

/// A connection to a database.
#[async_trait]
pub(super) trait Connection: Send {
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
pub(super) trait Connector: Send + Sync + 'static {
    /// Connects. Bounded in time.
    async fn connect(&self) -> Result<Box<dyn Connection>, Failure>;
}
