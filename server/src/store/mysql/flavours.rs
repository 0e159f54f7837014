//! What MySQL and MariaDB are asked.

use std::time::Duration;

use crate::store::sql::{Statements, scripts};

/// The statements for one kind of server.
pub(crate) struct Flavour {
    pub(crate) statements: Statements,
    /// (revision, namespace, previous if there is one, previous, server, number, at_ms, events, namespace, revision)
    pub(crate) create: &'static str,
    pub(crate) create_anew: &'static str,
    pub(crate) advance: &'static str,
    pub(crate) adopt: &'static str,
    /// (revision, namespace, previous, namespace, previous, revision, server, number, at_ms, events)
    pub(crate) advance_at_once: &'static str,
}

/// All of an append as one statement, which MariaDB can prepare. It answers once, at the end, so `ROW_COUNT()` can be relied
/// on even when the client has gone away. The error is [`NOT_THERE`](super::append::NOT_THERE).
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
            scripts: scripts::MYSQL,
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
pub(crate) static FLAVOURS: [(&str, Flavour); 3] = [
    ("SELECT @@server_uuid", flavour!("mysql", "@@server_uuid")),
    (
        "SELECT 'named' FROM (SELECT @@server_uid AS name) AS one WHERE name <> 'unknown'",
        flavour!("mariadb", "@@server_uid"),
    ),
    ("SELECT @@hostname", flavour!("mariadb", "CONCAT(@@hostname, ':', @@port, '/', @@server_id)")),
];

/// What must be known of a connection: whether it takes writes, what makes its commits durable.
pub(crate) const FACTS: &str = "SELECT CONCAT(@@global.read_only, ''), CONCAT(@@innodb_flush_log_at_trx_commit, ''), \
    CONCAT(@@log_bin, ''), CONCAT(@@sync_binlog, '')";

/// Has a node of a Galera cluster read only when it has applied what the cluster had committed until then. Otherwise a batch that was
/// committed by a node which has failed since might not be found at another.
pub(crate) const READ_COMMITTED_BY_ALL: &str = "SET SESSION wsrep_sync_wait = 1";

/// What a connection begins with, whatever the server's defaults are, since a default may well break what follows: without autocommit,
/// or with commits that begin the next transaction, single statements are never committed. Backslashes in texts are escapes, quotes
/// are quotes, answers are complete, and no statement waits for a lock longer than its caller.
pub(crate) fn settings(statement_timeout: Duration) -> String {
    let bound = statement_timeout.as_secs().max(1);
    format!(
        "SET SESSION autocommit = 1, completion_type = 0; SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE; \
        SET SESSION sql_mode = 'STRICT_ALL_TABLES,PIPES_AS_CONCAT,NO_ENGINE_SUBSTITUTION', \
        sql_select_limit = 18446744073709551615, sql_safe_updates = 0, sql_big_selects = 1, \
        innodb_lock_wait_timeout = {bound}, lock_wait_timeout = {bound}"
    )
}
