//! PostgreSQL, directly or through a pooler like PgBouncer in transaction mode.

use std::borrow::Cow;
use std::time::Duration;

use async_trait::async_trait;
use futures::TryStreamExt;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgDatabaseError, PgRow, PgSeverity};
use sqlx::{ConnectOptions, Executor, Row as _, TypeInfo, ValueRef};
use tokio::time::timeout;

use super::connection::{Append, Arg, Cell, Connection, Connector, Each, Failure, HeadMove, Row, Statements, Table};
use super::hosts::Host;
use super::literal::with_literals;
use super::migrations;
use super::options::{OpenError, StoreOptions};
use super::postgres_copy::{copy, lines};
use super::postgres_questions::{UNCONFIRMED, answer, unreached, vet};
use super::postgres_warnings::with_warnings;
use super::prepared::prepared;

/// The channel on which servers tell each other that they have appended.
pub(super) const CHANNEL: &str = "tenure";

/// A setting that only a connection without a pooler between keeps.
pub(super) const DIRECT: &str = "tenure.direct";

/// What this file's statements are for one kind of server.
pub(super) struct Flavour {
    pub(super) statements: Statements,
    /// Whether it knows `pg_notify`.
    pub(super) notifies: bool,
    /// (revision, namespace, previous, server, number, at_ms, events)
    pub(super) create: &'static str,
    pub(super) create_anew: &'static str,
    pub(super) advance: &'static str,
    pub(super) adopt: &'static str,
    pub(super) create_and_notify: &'static str,
    pub(super) advance_and_notify: &'static str,
    pub(super) adopt_and_notify: &'static str,
}

macro_rules! append {
    ($head:expr) => {
        concat!(
            "WITH head AS (",
            $head,
            " RETURNING name) \
            INSERT INTO batches (namespace, previous, revision, server, number, at_ms, events) \
            SELECT name, $3, $1, $4, $5, $6, $7 FROM head"
        )
    };
}

macro_rules! append_and_notify {
    ($head:expr) => {
        concat!(
            "WITH head AS (",
            $head,
            " RETURNING name), batch AS (\
            INSERT INTO batches (namespace, previous, revision, server, number, at_ms, events) \
            SELECT name, $3, $1, $4, $5, $6, $7 FROM head RETURNING server) \
            SELECT pg_notify('tenure', server::text) FROM batch"
        )
    };
}

macro_rules! create_head {
    ($identity:expr) => {
        concat!(
            "INSERT INTO namespaces (revision, rows_revision, name, database_identity) \
            SELECT $1::bigint, 0, $2::text, database_identity FROM tenure_birth WHERE said_by = '' AND database_identity = ",
            $identity,
            " ON CONFLICT DO NOTHING"
        )
    };
}

macro_rules! create_head_anew {
    ($identity:expr) => {
        concat!(
            "INSERT INTO namespaces (revision, rows_revision, name, database_identity) VALUES ($1, 0, $2, ",
            $identity,
            ") ON CONFLICT DO NOTHING"
        )
    };
}

macro_rules! advance_head {
    ($identity:expr) => {
        concat!(
            "UPDATE namespaces SET revision = $1 WHERE name = $2 AND revision = $3 AND database_identity = ",
            $identity
        )
    };
}

macro_rules! adopt_head {
    ($identity:expr) => {
        concat!(
            "UPDATE namespaces SET revision = $1, database_identity = ",
            $identity,
            " WHERE name = $2 AND revision = $3"
        )
    };
}

macro_rules! flavour {
    ($identity:expr, $notifies:expr) => {
        Flavour {
            notifies: $notifies,
            create: append!(create_head!($identity)),
            create_anew: append!(create_head_anew!($identity)),
            advance: append!(advance_head!($identity)),
            adopt: append!(adopt_head!($identity)),
            create_and_notify: append_and_notify!(create_head!($identity)),
            advance_and_notify: append_and_notify!(advance_head!($identity)),
            adopt_and_notify: append_and_notify!(adopt_head!($identity)),
            statements: statements!($identity),
        }
    };
}

macro_rules! statements {
    ($identity:expr) => {
        Statements {
            system: "postgresql",
            scripts: migrations::POSTGRES,
            // A third to a half of an append's time went to the compression that is the default.
            tune_tables: Some("ALTER TABLE batches ALTER COLUMN events SET COMPRESSION lz4"),
            begin: "BEGIN",
            begin_snapshot: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            read: concat!(
                "SELECT n.revision, n.rows_revision, CASE WHEN n.database_identity = ", $identity, " THEN 1 WHEN n.name IS NULL AND EXISTS \
                (SELECT 1 FROM tenure_birth WHERE said_by = '' AND database_identity = ", $identity, ") THEN 1 ELSE 0 END, \
                (extract(epoch FROM clock_timestamp()) * 1000)::bigint, \
                b.revision, b.previous, b.server, b.number, b.at_ms, b.events \
                FROM (SELECT 1) AS one \
                LEFT JOIN namespaces AS n ON n.name = $1 \
                LEFT JOIN (SELECT revision, previous FROM batches \
                WHERE namespace = $2 AND revision > $3 ORDER BY revision LIMIT $4) AS next ON next.previous < $5 \
                LEFT JOIN batches AS b ON b.namespace = n.name AND b.revision = next.revision"
            ),
            newest_batch: "SELECT revision FROM batches WHERE namespace = $1 AND revision <= $2 ORDER BY revision DESC LIMIT 1",
            search: "SELECT previous, server, number, at_ms, events FROM batches \
                WHERE namespace = $1 AND revision > $2 AND revision <= $3 \
                AND (strpos(events, $4) > 0 OR strpos(substr(events, 1, 64), '\"history_lost\"') > 0) \
                ORDER BY revision DESC",
            heads: "SELECT name, revision FROM namespaces",
            rows_revision: "SELECT rows_revision, lost_revision FROM namespaces WHERE name = $1",
            load_sessions: "SELECT opened, id, owner, ttl_ms, disconnect_grace_ms, home, attachment, identity, client, metadata FROM sessions \
                WHERE namespace = $1 AND opened > $2 ORDER BY opened LIMIT $3",
            load_claims: "SELECT id, position, name, state, token, session, opened, owner, priority, min_hold_ms, home, \
                mode, permits, permit_limit, transfer_to, transfer_started, drain_ms, awaited_at, metadata, granted_at_ms FROM claims WHERE namespace = $1 AND id >= $2 AND (id > $3 OR position > $4) \
                ORDER BY id, position LIMIT $5",
            load_settings: "SELECT position, name, permit_limit, settling_ms, drain_ms FROM settings \
                WHERE namespace = $1 AND position > $2 ORDER BY position LIMIT $3",
            load_groups: "SELECT id, name, membership, leader, token, config, config_revision, assigned, \
                assigned_membership, assigned_config FROM member_groups \
                WHERE namespace = $1 AND id > $2 ORDER BY id LIMIT $3",
            load_members: "SELECT group_id, number, session, opened, owner, metadata, assignment FROM group_members \
                WHERE namespace = $1 AND group_id >= $2 AND (group_id > $3 OR number > $4) \
                ORDER BY group_id, number LIMIT $5",
            advance_rows: concat!(
                "UPDATE namespaces SET rows_revision = $1, lost_revision = $2 WHERE name = $3 AND rows_revision = $4 \
                AND EXISTS (SELECT 1 FROM batches AS b WHERE b.namespace = $5 AND b.revision = $6) \
                AND database_identity = ", $identity
            ),
            // An array in the database's own form lets it look into the index, whatever it knows about the table.
            delete_sessions: "DELETE FROM sessions WHERE opened = ANY (translate($1, '[]', '{}')::bigint[]) AND namespace = $2",
            delete_claims: "DELETE FROM claims WHERE id = ANY (translate($1, '[]', '{}')::bigint[]) AND namespace = $2",
            delete_settings: "DELETE FROM settings WHERE namespace = $1",
            delete_groups: "DELETE FROM member_groups WHERE id = ANY (translate($1, '[]', '{}')::bigint[]) AND namespace = $2",
            delete_members: "DELETE FROM group_members WHERE group_id = ANY (translate($1, '[]', '{}')::bigint[]) AND namespace = $2",
            beat: "UPDATE servers SET beat = $1, lease_ms = $2, label = $3, address = $4, certificate = $5 WHERE id = $6 AND NOT dead",
            register: "INSERT INTO servers (beat, lease_ms, label, address, certificate, id, dead) VALUES ($1, $2, $3, $4, $5, $6, FALSE) \
                ON CONFLICT DO NOTHING",
            servers: "SELECT id, beat, lease_ms, label, address, certificate, CASE WHEN dead THEN 1 ELSE 0 END FROM servers ORDER BY id",
            mark_dead: "UPDATE servers SET dead = TRUE WHERE id = $1 AND beat = $2",
            outlive: "UPDATE servers SET dead = TRUE WHERE id <> $1 AND NOT dead",
            forget: "DELETE FROM servers WHERE id = ANY (translate($1, '[]', '{}')::bigint[]) AND dead",
            measure: "SELECT MAX(revision), CAST(SUM(bytes) AS bigint) FROM (SELECT revision, octet_length(events) AS bytes FROM batches \
                WHERE namespace = $1 AND revision > $2 ORDER BY revision LIMIT $3) AS piece",
            oldest_batches: "SELECT b.revision, b.previous, b.at_ms, n.rows_revision FROM batches AS b \
                JOIN namespaces AS n ON n.name = b.namespace WHERE b.namespace = $1 ORDER BY b.revision LIMIT $2",
            delete_batches: "DELETE FROM batches WHERE namespace = $1 AND revision <= $2",
            migrations_exist: "SELECT 1 FROM information_schema.tables \
                WHERE table_schema = current_schema() AND table_name = 'tenure_migrations'",
            create_migrations: "CREATE TABLE IF NOT EXISTS tenure_migrations \
                (number bigint NOT NULL PRIMARY KEY, name text NOT NULL)",
            // A row that others must wait for: any engine has that, and any pooler lets it pass.
            lock_migrations: "SET LOCAL statement_timeout = 0; INSERT INTO tenure_migrations (number, name) \
                VALUES (0, 'lock') ON CONFLICT (number) DO UPDATE SET name = 'lock'",
            // Not information_schema, which leaves out what this user has no rights to.
            relations: "SELECT c.relname::text FROM pg_catalog.pg_class AS c \
                JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = current_schema() \
                AND c.relname::text = ANY (translate($1, '[]\"', '{}')::text[]) ORDER BY c.relname",
            own_place: "a database or a schema",
            migrations: "SELECT number FROM tenure_migrations ORDER BY number",
            record_migration: "INSERT INTO tenure_migrations (number, name) VALUES ($1, $2)",
            // Numbers of tables are not given twice.
            birth: "SELECT 'tenure_migrations'::regclass::oid::bigint::text, (SELECT birth FROM tenure_birth WHERE said_by = '')",
            record_birth: concat!(
                "INSERT INTO tenure_birth (said_by, birth, database_identity) VALUES ('', $1, ", $identity, ") \
                ON CONFLICT (said_by) DO UPDATE SET birth = EXCLUDED.birth"
            ),
            disown: ["UPDATE namespaces SET database_identity = ''", "UPDATE tenure_birth SET database_identity = ''"],
        }
    };
}

/// PostgreSQL itself: which cluster, and which timeline of it. The timeline is that of the log being written, since the
/// one in the control file lags behind a promotion.
macro_rules! native_identity {
    () => {
        "(SELECT system_identifier::text || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) \
        FROM pg_control_system())"
    };
}

pub(super) static NATIVE: Flavour = flavour!(native_identity!(), true);

/// The same, asked once: a connection without a pooler between, that takes writes, is to one cluster on one timeline for as long
/// as it lives. Asking takes a quarter of the time of the statement that appends, its commit aside.
pub(super) static DIRECT_NATIVE: Flavour = flavour!("current_setting('tenure.identity')", true);

/// Leaves out YugabyteDB: each of its nodes has a system identifier of its own, and none a log.
macro_rules! unless_yugabyte {
    ($asked:expr) => {
        concat!("SELECT ", $asked, " WHERE version() NOT LIKE '%-YB-%'")
    };
}

/// Whether it can be asked.
pub(super) const ASK_IDENTITY: &str = unless_yugabyte!(native_identity!());

/// Makes the answer the connection's own.
pub(super) const REMEMBER_IDENTITY: &str =
    unless_yugabyte!(concat!("set_config('tenure.identity', ", native_identity!(), ", false)"));

/// Engines that speak its language, or do not let us ask. What they lose shows by the revision only.
pub(super) static COMPATIBLE: Flavour = flavour!("'unknown'", false);

/// Those of them that are PostgreSQL but for their storage, as Aurora.
pub(super) static DIRECT_COMPATIBLE: Flavour = flavour!("'unknown'", true);

/// Of an engine that does not say who it is: YugabyteDB answers a notification with a warning, and with nothing else.
pub(super) const ASK_WHETHER_IT_NOTIFIES: &str = unless_yugabyte!("'yes'");

/// What an error means that came while a statement was under way.
pub(super) fn failure(error: sqlx::Error) -> Failure {
    let sqlx::Error::Database(error) = error else { return Failure::Lost(error.to_string()) };
    let reason = error.message().to_owned();
    let severity = error.try_downcast_ref::<PgDatabaseError>().map(PgDatabaseError::severity);
    match error.code().as_deref() {
        _ if severity == Some(PgSeverity::Panic) => Failure::Lost(reason),
        // Serialization failure, deadlock, and what somebody else has just inserted.
        Some("40001" | "40P01" | "23505") => Failure::Conflict,
        // A read-only transaction; a shutdown, which undoes what is under way.
        Some("25006" | "57P01" | "57P02" | "57P03") => Failure::Away(reason),
        // CockroachDB says in this way that it does not know whether it has committed.
        Some("40003") => Failure::Lost(reason),
        // A pooler says in this way that it has lost the server, at whatever point.
        Some(code) if code.starts_with("08") => Failure::Lost(reason),
        _ => Failure::Refused(reason),
    }
}

/// A host that may be the database.
pub(super) struct PostgresHost {
    options: PgConnectOptions,
    prepared_statements: bool,
    allow_unsafe_durability: bool,
    connect_timeout: Duration,
    statement_timeout: Duration,
}

impl PostgresHost {
    /// From a URL with one host.
    pub(super) fn new(url: &str, options: &StoreOptions) -> Result<Host<Self>, OpenError> {
        let parsed: PgConnectOptions =
            url.parse().map_err(|_| OpenError::Url("it is not of the form postgres://user:password@host:port/name"))?;
        let name = format!("{}:{}", parsed.get_host(), parsed.get_port());
        let host = Self {
            // Poolers refuse what they do not know, and no number of ours is a fraction.
            options: parsed.application_name("tenured").extra_float_digits(None).disable_statement_logging(),
            prepared_statements: options.prepared_statements,
            allow_unsafe_durability: options.allow_unsafe_durability,
            connect_timeout: options.connect_timeout,
            statement_timeout: options.statement_timeout,
        };
        Ok((name, host))
    }

    /// What a connection without a pooler is opened with. The server then gives up before we do, so that we know it has.
    pub(super) fn direct_options(&self) -> PgConnectOptions {
        let bound = (self.statement_timeout * 9 / 10).as_millis().max(1).to_string();
        self.options.clone().options([
            (DIRECT, "on"),
            ("statement_timeout", &bound),
            ("idle_in_transaction_session_timeout", &bound),
        ])
    }

    async fn open(&self) -> Result<PostgresDatabase, Failure> {
        let mut inner = match self.direct_options().connect().await {
            Err(sqlx::Error::Database(_)) => self.options.connect().await,
            connected => connected,
        }
        .map_err(unreached)?;
        let direct = vet(&mut inner, self.allow_unsafe_durability).await?;
        let known = answer(&mut inner, if direct { REMEMBER_IDENTITY } else { ASK_IDENTITY }, direct).await?;
        let flavour = match (known, direct) {
            (Some(_), true) => &DIRECT_NATIVE,
            (Some(_), false) => &NATIVE,
            (None, true) if answer(&mut inner, ASK_WHETHER_IT_NOTIFIES, true).await?.is_some() => &DIRECT_COMPATIBLE,
            (None, _) => &COMPATIBLE,
        };
        Ok(PostgresDatabase {
            inner,
            flavour,
            is_direct: direct,
            prepared_statements: direct && self.prepared_statements,
        })
    }

    /// How long to wait for a connection.
    pub(super) fn connect_timeout(&self) -> Duration {
        self.connect_timeout
    }

    /// Whether notifications can be listened to: the database sends them, and there is no pooler between.
    pub(super) async fn can_listen(&self) -> Result<bool, Failure> {
        let database = self.bounded_open().await?;
        Ok(database.flavour.notifies && database.is_direct)
    }

    async fn bounded_open(&self) -> Result<PostgresDatabase, Failure> {
        let late = |_| Failure::Refused(format!("no connection within {:?}", self.connect_timeout));
        timeout(self.connect_timeout, self.open()).await.map_err(late)?
    }
}

#[async_trait]
impl Connector for PostgresHost {
    async fn connect(&self) -> Result<Box<dyn Connection>, Failure> {
        Ok(Box::new(self.bounded_open().await?))
    }
}

/// A connection to the database.
struct PostgresDatabase {
    inner: PgConnection,
    flavour: &'static Flavour,
    is_direct: bool,
    /// If not, arguments are written into the statements: a statement that is prepared in one transaction may be sought by
    /// the next in another session.
    prepared_statements: bool,
}

#[async_trait]
impl Connection for PostgresDatabase {
    fn sql(&self) -> &'static Statements {
        &self.flavour.statements
    }

    async fn execute(&mut self, sql: &'static str, args: &[Arg<'_>]) -> Result<u64, Failure> {
        let done = if self.prepared_statements {
            prepared(sql, args).execute(&mut self.inner).await
        } else {
            self.inner.execute(&*with_literals(sql, args, "E'")).await
        };
        done.map(|done| done.rows_affected()).map_err(failure)
    }

    async fn fetch(&mut self, sql: &'static str, args: &[Arg<'_>]) -> Result<Vec<Row<'static>>, Failure> {
        let rows = if self.prepared_statements {
            prepared(sql, args).fetch_all(&mut self.inner).await
        } else {
            self.inner.fetch_all(&*with_literals(sql, args, "E'")).await
        };
        let rows = rows.map_err(failure)?;
        rows.iter().map(|found| row(found).map(Row::into_owned)).collect::<Result<_, _>>().map_err(failure)
    }

    async fn load(&mut self, sql: &'static str, args: &[Arg<'_>], each: &mut Each<'_>) -> Result<(), Failure> {
        let literal;
        let mut rows = if self.prepared_statements {
            prepared(sql, args).fetch(&mut self.inner)
        } else {
            literal = with_literals(sql, args, "E'");
            self.inner.fetch(&*literal)
        };
        while let Some(found) = rows.try_next().await.map_err(failure)? {
            each(&row(&found).map_err(failure)?)?;
        }
        Ok(())
    }

    /// Takes the database about a quarter of the time of a statement with the rows as JSON.
    async fn insert(&mut self, table: &'static Table, cells: &[Arg<'_>]) -> Result<(), Failure> {
        let mut copying = self.inner.copy_in_raw(&copy(table)).await.map_err(failure)?;
        copying.send(lines(table, cells)).await.map_err(failure)?;
        copying.finish().await.map(drop).map_err(failure)
    }

    async fn script(&mut self, sql: &'static str) -> Result<(), Failure> {
        self.inner.execute(sql).await.map(drop).map_err(failure)
    }

    /// One statement, so one round trip. The row that it gives or inserts is there only if the head was moved.
    async fn append(&mut self, append: &Append<'_>) -> Result<bool, Failure> {
        let flavour = self.flavour;
        let sql = match (append.head, append.notify && flavour.notifies) {
            (HeadMove::CreateAnew, _) => flavour.create_anew,
            (HeadMove::Create, false) => flavour.create,
            (HeadMove::Advance, false) => flavour.advance,
            (HeadMove::Adopt, false) => flavour.adopt,
            (HeadMove::Create, true) => flavour.create_and_notify,
            (HeadMove::Advance, true) => flavour.advance_and_notify,
            (HeadMove::Adopt, true) => flavour.adopt_and_notify,
        };
        let args = [
            Arg::Int(append.revision),
            Arg::Text(append.namespace),
            Arg::Int(append.previous),
            Arg::Int(append.server),
            Arg::Int(append.number),
            Arg::Int(append.at_ms),
            Arg::Text(append.events),
        ];
        match with_warnings(self.execute(sql, &args)).await {
            (Ok(_), true) => Err(Failure::Lost(UNCONFIRMED.to_owned())),
            (met, _) => Ok(met? == 1),
        }
    }
}

fn row(row: &PgRow) -> Result<Row<'_>, sqlx::Error> {
    Row::read(row.len(), |column| {
        let value = row.try_get_raw(column)?;
        match (value.is_null(), value.type_info().name()) {
            (true, _) => Ok(Cell::Null),
            (false, "INT8") => Ok(Cell::Int(row.try_get_unchecked(column)?)),
            (false, "INT4") => Ok(Cell::Int(row.try_get_unchecked::<i32, _>(column)?.into())),
            (false, _) => Ok(Cell::Text(Cow::Borrowed(row.try_get_unchecked(column)?))),
        }
    })
}
