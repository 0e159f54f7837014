//! MySQL and MariaDB.

use std::borrow::Cow;
use std::time::Duration;

use async_trait::async_trait;
use futures::TryStreamExt;
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlDatabaseError, MySqlRow};
use sqlx::{ConnectOptions, Executor, Row as _, TypeInfo, ValueRef};
use tokio::time::timeout;

use super::connection::{Append, Arg, Cell, Connection, Connector, Each, Failure, HeadMove, Row, Statements, Table};
use super::hosts::Host;
use super::literal;
use super::migrations;
use super::mysql_append;
use super::options::{OpenError, StoreOptions};
use super::prepared::prepared;

/// What this file's statements are for one kind of server.
pub(super) struct Flavour {
    pub(super) statements: Statements,
    /// (revision, namespace, previous if there is one, previous, server, number, at_ms, events, namespace, revision)
    pub(super) create: &'static str,
    pub(super) create_anew: &'static str,
    pub(super) advance: &'static str,
    pub(super) adopt: &'static str,
    /// (revision, namespace, previous, namespace, previous, revision, server, number, at_ms, events)
    pub(super) advance_at_once: &'static str,
}

/// All of an append as one statement, which MariaDB can prepare. It answers once, at the end, so `ROW_COUNT()` can be relied
/// on even when the client has gone away. The error is [`mysql_append::NOT_THERE`].
macro_rules! append_at_once {
    ($head:expr) => {
        concat!(
            "BEGIN NOT ATOMIC START TRANSACTION; ",
            $head,
            "; IF ROW_COUNT() = 1 THEN \
            INSERT INTO batches (namespace, previous, revision, server, number, at_ms, events) VALUES (?, ?, ?, ?, ?, ?, ?); \
            COMMIT; \
            ELSE ROLLBACK; SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 7422; \
            END IF; END"
        )
    };
}

/// All of an append as four statements. The batch is inserted if the head is where it leads to, and changes nothing if it is
/// there already. Nothing here asks `ROW_COUNT()`: it is wrong when the client goes away between two of the statements, of
/// which the server then still executes the rest.
macro_rules! append {
    ($head:expr) => {
        concat!(
            "START TRANSACTION; ",
            $head,
            "; INSERT INTO batches (namespace, previous, revision, server, number, at_ms, events) \
            SELECT name, ?, revision, ?, ?, ?, _binary ? FROM namespaces AS n WHERE n.name = ? AND n.revision = ? \
            ON DUPLICATE KEY UPDATE number = batches.number; \
            COMMIT"
        )
    };
}

macro_rules! create_head {
    ($identity:expr) => {
        concat!(
            "INSERT IGNORE INTO namespaces (revision, rows_revision, name, database_identity) \
            SELECT ?, 0, ?, database_identity FROM tenure_birth WHERE database_identity = said_by AND said_by = ",
            $identity
        )
    };
}

macro_rules! create_head_anew {
    ($identity:expr) => {
        concat!(
            "INSERT IGNORE INTO namespaces (revision, rows_revision, name, database_identity) VALUES (?, 0, ?, ",
            $identity,
            ")"
        )
    };
}

macro_rules! advance_head {
    ($identity:expr) => {
        concat!(
            "UPDATE namespaces SET revision = ? WHERE name = ? AND revision = ? AND database_identity = ",
            $identity
        )
    };
}

macro_rules! adopt_head {
    ($identity:expr) => {
        concat!(
            "UPDATE namespaces SET revision = ?, database_identity = ",
            $identity,
            " WHERE name = ? AND revision = ?"
        )
    };
}

macro_rules! flavour {
    ($system:literal, $identity:expr) => {
        Flavour {
            statements: statements!($system, $identity),
            create: append!(create_head!($identity)),
            create_anew: append!(create_head_anew!($identity)),
            advance: append!(advance_head!($identity)),
            adopt: append!(adopt_head!($identity)),
            advance_at_once: append_at_once!(advance_head!($identity)),
        }
    };
}

macro_rules! statements {
    ($system:literal, $identity:expr) => {
        Statements {
            system: $system,
            scripts: migrations::MYSQL,
            tune_tables: None,
            begin: "START TRANSACTION",
            begin_snapshot: "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; \
                START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
            read: concat!(
                "SELECT n.revision, n.rows_revision, CASE WHEN n.database_identity = ", $identity, " THEN 1 WHEN n.name IS NULL AND EXISTS \
                (SELECT 1 FROM tenure_birth WHERE database_identity = said_by AND said_by = ", $identity, ") THEN 1 ELSE 0 END, \
                CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS SIGNED), \
                b.revision, b.previous, b.server, b.number, b.at_ms, b.events \
                FROM (SELECT 1) AS one \
                LEFT JOIN namespaces AS n ON n.name = ? \
                LEFT JOIN (SELECT revision, previous FROM batches \
                WHERE namespace = ? AND revision > ? ORDER BY revision LIMIT ?) AS next ON next.previous < ? \
                LEFT JOIN batches AS b ON b.namespace = n.name AND b.revision = next.revision"
            ),
            newest_batch: "SELECT revision FROM batches WHERE namespace = ? AND revision <= ? ORDER BY revision DESC LIMIT 1",
            search: "SELECT previous, server, number, at_ms, events FROM batches \
                WHERE namespace = ? AND revision > ? AND revision <= ? \
                AND (INSTR(events, CAST(? AS BINARY)) > 0 OR INSTR(SUBSTR(events, 1, 64), '\"history_lost\"') > 0) \
                ORDER BY revision DESC",
            heads: "SELECT name, revision FROM namespaces",
            rows_revision: "SELECT rows_revision, lost_revision FROM namespaces WHERE name = ?",
            load_sessions: "SELECT opened, id, owner, ttl_ms, disconnect_grace_ms, home, attachment, identity, client, metadata FROM sessions \
                WHERE namespace = ? AND opened > ? ORDER BY opened LIMIT ?",
            load_claims: "SELECT id, position, name, state, token, session, opened, owner, priority, min_hold_ms, home, \
                mode, permits, permit_limit, transfer_to, transfer_started, drain_ms, awaited_at, metadata, granted_at_ms FROM claims WHERE namespace = ? AND id >= ? AND (id > ? OR position > ?) \
                ORDER BY id, position LIMIT ?",
            load_settings: "SELECT position, name, permit_limit, settling_ms, drain_ms FROM settings \
                WHERE namespace = ? AND position > ? ORDER BY position LIMIT ?",
            load_groups: "SELECT id, name, membership, leader, token, config, config_revision, assigned, \
                assigned_membership, assigned_config FROM member_groups \
                WHERE namespace = ? AND id > ? ORDER BY id LIMIT ?",
            load_members: "SELECT group_id, number, session, opened, owner, metadata, assignment FROM group_members \
                WHERE namespace = ? AND group_id >= ? AND (group_id > ? OR number > ?) \
                ORDER BY group_id, number LIMIT ?",
            advance_rows: concat!(
                "UPDATE namespaces SET rows_revision = ?, lost_revision = ? WHERE name = ? AND rows_revision = ? \
                AND EXISTS (SELECT 1 FROM batches AS b WHERE b.namespace = ? AND b.revision = ?) \
                AND database_identity = ", $identity
            ),
            // In this order, or MariaDB unpacks the JSON again for each row of the namespace.
            delete_sessions: "DELETE s FROM JSON_TABLE(?, '$[*]' COLUMNS (k BIGINT PATH '$')) AS j \
                STRAIGHT_JOIN sessions AS s ON s.opened = j.k WHERE s.namespace = ?",
            delete_claims: "DELETE c FROM JSON_TABLE(?, '$[*]' COLUMNS (k BIGINT PATH '$')) AS j \
                STRAIGHT_JOIN claims AS c ON c.id = j.k WHERE c.namespace = ?",
            delete_settings: "DELETE FROM settings WHERE namespace = ?",
            delete_groups: "DELETE g FROM JSON_TABLE(?, '$[*]' COLUMNS (k BIGINT PATH '$')) AS j \
                STRAIGHT_JOIN member_groups AS g ON g.id = j.k WHERE g.namespace = ?",
            delete_members: "DELETE m FROM JSON_TABLE(?, '$[*]' COLUMNS (k BIGINT PATH '$')) AS j \
                STRAIGHT_JOIN group_members AS m ON m.group_id = j.k WHERE m.namespace = ?",
            beat: "UPDATE servers SET beat = ?, lease_ms = ?, label = ?, address = ?, certificate = ? WHERE id = ? AND NOT dead",
            register: "INSERT IGNORE INTO servers (beat, lease_ms, label, address, certificate, id, dead) VALUES (?, ?, ?, ?, ?, ?, FALSE)",
            servers: "SELECT id, beat, lease_ms, label, address, certificate, CASE WHEN dead THEN 1 ELSE 0 END FROM servers ORDER BY id",
            mark_dead: "UPDATE servers SET dead = TRUE WHERE id = ? AND beat = ?",
            outlive: "UPDATE servers SET dead = TRUE WHERE id <> ? AND NOT dead",
            forget: "DELETE s FROM JSON_TABLE(?, '$[*]' COLUMNS (k BIGINT PATH '$')) AS j \
                STRAIGHT_JOIN servers AS s ON s.id = j.k WHERE s.dead",
            measure: "SELECT MAX(revision), CAST(SUM(bytes) AS SIGNED) FROM (SELECT revision, LENGTH(events) AS bytes FROM batches \
                WHERE namespace = ? AND revision > ? ORDER BY revision LIMIT ?) AS piece",
            oldest_batches: "SELECT b.revision, b.previous, b.at_ms, n.rows_revision FROM batches AS b \
                JOIN namespaces AS n ON n.name = b.namespace WHERE b.namespace = ? ORDER BY b.revision LIMIT ?",
            delete_batches: "DELETE FROM batches WHERE namespace = ? AND revision <= ?",
            migrations_exist: "SELECT 1 FROM information_schema.tables \
                WHERE table_schema = DATABASE() AND table_name = 'tenure_migrations'",
            create_migrations: "CREATE TABLE IF NOT EXISTS tenure_migrations \
                (number BIGINT NOT NULL PRIMARY KEY, name VARCHAR(255) NOT NULL) ENGINE = InnoDB",
            relations: "SELECT t.table_name FROM information_schema.tables AS t \
                WHERE t.table_schema = DATABASE() AND JSON_CONTAINS(?, JSON_QUOTE(LOWER(t.table_name))) ORDER BY 1",
            own_place: "a database",
            // Each change of a table commits, so a lock on a row would not last. MySQL takes no lock's name above 64 characters, and
            // MD5 is no longer built into it. Short names are as they always were, since earlier versions may migrate at the same time.
            lock_migrations: "DO GET_LOCK(IF(CHAR_LENGTH(DATABASE()) <= 57, CONCAT(DATABASE(), '.tenure'), \
                CONCAT('tenure.', SHA2(DATABASE(), 224))), 100)",
            migrations: "SELECT number FROM tenure_migrations ORDER BY number",
            record_migration: "INSERT INTO tenure_migrations (number, name) VALUES (?, ?)",
            birth: concat!(
                "SELECT CAST(UNIX_TIMESTAMP(t.create_time) AS CHAR), (SELECT birth FROM tenure_birth WHERE said_by = ", $identity, ") \
                FROM information_schema.tables AS t WHERE t.table_schema = DATABASE() AND t.table_name = 'tenure_migrations'"
            ),
            record_birth: concat!(
                "INSERT INTO tenure_birth (said_by, birth, database_identity) \
                SELECT ", $identity, ", ?, CASE WHEN COUNT(*) = 0 THEN ", $identity, " ELSE '' END FROM tenure_birth \
                ON DUPLICATE KEY UPDATE birth = VALUES(birth)"
            ),
            disown: ["UPDATE namespaces SET database_identity = ''", "UPDATE tenure_birth SET database_identity = ''"],
        }
    };
}

/// The ways in which servers name themselves, best first. Where there is no network card, as in some containers, all of MariaDB's have
/// the same `server_uid`.
pub(super) static FLAVOURS: [(&str, Flavour); 3] = [
    ("SELECT @@server_uuid", flavour!("mysql", "@@server_uuid")),
    (
        "SELECT 'named' FROM (SELECT @@server_uid AS name) AS one WHERE name <> 'unknown'",
        flavour!("mariadb", "@@server_uid"),
    ),
    ("SELECT @@hostname", flavour!("mariadb", "CONCAT(@@hostname, ':', @@port, '/', @@server_id)")),
];

/// What must be known of a connection: whether it takes writes, what makes its commits durable.
pub(super) const FACTS: &str = "SELECT CONCAT(@@global.read_only, ''), CONCAT(@@innodb_flush_log_at_trx_commit, ''), \
    CONCAT(@@log_bin, ''), CONCAT(@@sync_binlog, '')";

/// Has a node of a Galera cluster read only when it has applied what the cluster had committed until then. Otherwise a batch that was
/// committed by a node which has failed since might not be found at another.
pub(super) const READ_COMMITTED_BY_ALL: &str = "SET SESSION wsrep_sync_wait = 1";

/// What a connection begins with, whatever the server's defaults are, since a default may well break what follows: without autocommit,
/// or with commits that begin the next transaction, single statements are never committed. Backslashes in texts are escapes, quotes
/// are quotes, answers are complete, and no statement waits for a lock longer than its caller.
pub(super) fn settings(statement_timeout: Duration) -> String {
    let bound = statement_timeout.as_secs().max(1);
    format!(
        "SET SESSION autocommit = 1, completion_type = 0; SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE; \
        SET SESSION sql_mode = 'STRICT_ALL_TABLES,PIPES_AS_CONCAT,NO_ENGINE_SUBSTITUTION', \
        sql_select_limit = 18446744073709551615, sql_safe_updates = 0, sql_big_selects = 1, \
        innodb_lock_wait_timeout = {bound}, lock_wait_timeout = {bound}"
    )
}

/// What an error means that came while a statement was under way. One of a commit is looked at by [`mysql_append`].
pub(super) fn failure(error: sqlx::Error) -> Failure {
    let sqlx::Error::Database(error) = error else { return Failure::Lost(error.to_string()) };
    let reason = error.message().to_owned();
    match error.try_downcast_ref::<MySqlDatabaseError>().map(MySqlDatabaseError::number) {
        // Changed meanwhile, duplicate key, deadlock.
        Some(1020 | 1062 | 1213) => Failure::Conflict,
        // Shutdown, killed, read-only in its various ways, disconnected for inactivity.
        Some(1053 | 1077 | 1079 | 1080 | 1290 | 1792 | 1836 | 1927 | 4031) => Failure::Away(reason),
        // A node that its Galera cluster has left behind.
        Some(1047) => Failure::Away(reason),
        _ => Failure::Refused(reason),
    }
}

/// What an error means that came before anything was asked.
fn unreached(error: sqlx::Error) -> Failure {
    Failure::Refused(failure(error).reason())
}

/// What the server answers: nothing if it does not have what it was asked for.
fn understood<T>(answer: Result<T, sqlx::Error>) -> Result<Option<T>, Failure> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if is_not_understood(&error) => Ok(None),
        Err(error) => Err(unreached(error)),
    }
}

/// Whether an error says that the server does not have what it was asked for: a syntax, a variable, a kind of statement that can
/// be prepared. One that was interrupted, or is short of something, says nothing of the kind.
fn is_not_understood(error: &sqlx::Error) -> bool {
    let error = error.as_database_error().and_then(|error| error.try_downcast_ref::<MySqlDatabaseError>());
    error.is_some_and(|error| matches!(error.number(), 1064 | 1193 | 1295))
}

/// A host that may be the database.
pub(super) struct MySqlHost {
    options: MySqlConnectOptions,
    allow_unsafe_durability: bool,
    connect_timeout: Duration,
    statement_timeout: Duration,
}

impl MySqlHost {
    /// From a URL with one host.
    pub(super) fn new(url: &str, options: &StoreOptions) -> Result<Host<Self>, OpenError> {
        let parsed: MySqlConnectOptions =
            url.parse().map_err(|_| OpenError::Url("it is not of the form mysql://user:password@host:port/name"))?;
        let name = format!("{}:{}", parsed.get_host(), parsed.get_port());
        let host = Self {
            options: parsed.charset("utf8mb4").collation("utf8mb4_bin").disable_statement_logging(),
            allow_unsafe_durability: options.allow_unsafe_durability,
            connect_timeout: options.connect_timeout,
            statement_timeout: options.statement_timeout,
        };
        Ok((name, host))
    }

    async fn open(&self) -> Result<MySqlDatabase, Failure> {
        let mut inner = self.options.connect().await.map_err(unreached)?;
        inner.execute(&*settings(self.statement_timeout)).await.map_err(unreached)?;
        let rows = inner.fetch_all(FACTS).await.map_err(unreached)?;
        let fact = |column: usize| -> String {
            rows.first().and_then(|row| row.try_get_unchecked(column).ok()).unwrap_or_default()
        };
        if !matches!(&*fact(0), "0" | "OFF") {
            return Err(Failure::Away("it takes no writes".to_owned()));
        }
        if !self.allow_unsafe_durability {
            if fact(1) != "1" {
                return Err(Failure::Unsafe(format!("innodb_flush_log_at_trx_commit is {}, not 1", fact(1))));
            }
            if fact(2) == "1" && fact(3) != "1" {
                return Err(Failure::Unsafe(format!("sync_binlog is {}, not 1", fact(3))));
            }
        }
        understood(inner.execute(READ_COMMITTED_BY_ALL).await)?;
        for (question, flavour) in &FLAVOURS {
            if understood(inner.fetch_all(*question).await)?.is_some_and(|rows| !rows.is_empty()) {
                let compound = understood(inner.prepare(flavour.advance_at_once).await.map(drop))?.is_some();
                return Ok(MySqlDatabase { inner, flavour, compound });
            }
        }
        Err(Failure::Refused("the server does not say who it is".to_owned()))
    }
}

#[async_trait]
impl Connector for MySqlHost {
    async fn connect(&self) -> Result<Box<dyn Connection>, Failure> {
        let late = |_| Failure::Refused(format!("no connection within {:?}", self.connect_timeout));
        Ok(Box::new(timeout(self.connect_timeout, self.open()).await.map_err(late)??))
    }
}

/// A connection to the database.
struct MySqlDatabase {
    inner: MySqlConnection,
    flavour: &'static Flavour,
    /// Whether it can prepare a compound statement, as MariaDB can.
    compound: bool,
}

#[async_trait]
impl Connection for MySqlDatabase {
    fn sql(&self) -> &'static Statements {
        &self.flavour.statements
    }

    async fn execute(&mut self, sql: &'static str, args: &[Arg<'_>]) -> Result<u64, Failure> {
        let done = prepared(sql, args).execute(&mut self.inner).await;
        done.map(|done| done.rows_affected()).map_err(failure)
    }

    async fn fetch(&mut self, sql: &'static str, args: &[Arg<'_>]) -> Result<Vec<Row<'static>>, Failure> {
        let rows = prepared(sql, args).fetch_all(&mut self.inner).await.map_err(failure)?;
        rows.iter().map(|found| row(found).map(Row::into_owned)).collect::<Result<_, _>>().map_err(failure)
    }

    async fn load(&mut self, sql: &'static str, args: &[Arg<'_>], each: &mut Each<'_>) -> Result<(), Failure> {
        let mut rows = prepared(sql, args).fetch(&mut self.inner);
        while let Some(found) = rows.try_next().await.map_err(failure)? {
            each(&row(&found).map_err(failure)?)?;
        }
        Ok(())
    }

    async fn insert(&mut self, table: &'static Table, cells: &[Arg<'_>]) -> Result<(), Failure> {
        self.inner.execute(&*literal::insert(table, cells, "'")).await.map(drop).map_err(failure)
    }

    async fn script(&mut self, sql: &'static str) -> Result<(), Failure> {
        self.inner.execute(sql).await.map(drop).map_err(failure)
    }

    async fn append(&mut self, append: &Append<'_>) -> Result<bool, Failure> {
        let flavour = self.flavour;
        match append.head {
            HeadMove::Advance if self.compound => {
                mysql_append::at_once(&mut self.inner, flavour.advance_at_once, append).await
            }
            HeadMove::Create => mysql_append::one_by_one(&mut self.inner, flavour.create, append).await,
            HeadMove::CreateAnew => mysql_append::one_by_one(&mut self.inner, flavour.create_anew, append).await,
            HeadMove::Advance => mysql_append::one_by_one(&mut self.inner, flavour.advance, append).await,
            HeadMove::Adopt => mysql_append::one_by_one(&mut self.inner, flavour.adopt, append).await,
        }
    }
}

fn row(row: &MySqlRow) -> Result<Row<'_>, sqlx::Error> {
    Row::read(row.len(), |column| {
        let value = row.try_get_raw(column)?;
        match (value.is_null(), value.type_info().name()) {
            (true, _) => Ok(Cell::Null),
            (false, "BIGINT" | "INT" | "BOOLEAN" | "TINYINT") => Ok(Cell::Int(row.try_get_unchecked(column)?)),
            (false, _) => Ok(Cell::Text(Cow::Borrowed(row.try_get_unchecked(column)?))),
        }
    })
}
