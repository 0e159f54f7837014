//! What SQLite is asked.

use crate::store::sql::{Statements, scripts};

/// The file is the database: one that was put back from a copy shows it by its revision only.
/// The head's change, then (namespace, previous, revision, server, number, at_ms, events).
macro_rules! append {
    ($head:expr) => {
        concat!(
            "BEGIN IMMEDIATE; ",
            $head,
            "; INSERT INTO batches (namespace, previous, revision, server, number, at_ms, events) \
            SELECT ?, ?, ?, ?, ?, ?, ? WHERE changes() = 1; COMMIT"
        )
    };
}

/// (revision, namespace)
pub(crate) const CREATE: &str = append!(
    "INSERT INTO namespaces (revision, rows_revision, name, database_identity) \
    SELECT ?, 0, ?, 'file' FROM tenure_birth WHERE said_by = '' AND database_identity = 'file' ON CONFLICT DO NOTHING"
);
pub(crate) const CREATE_ANEW: &str = append!(
    "INSERT INTO namespaces (revision, rows_revision, name, database_identity) \
    VALUES (?, 0, ?, 'file') ON CONFLICT DO NOTHING"
);

/// (revision, namespace, previous)
pub(crate) const ADVANCE: &str =
    append!("UPDATE namespaces SET revision = ? WHERE name = ? AND revision = ? AND database_identity = 'file'");
pub(crate) const ADOPT: &str =
    append!("UPDATE namespaces SET revision = ?, database_identity = 'file' WHERE name = ? AND revision = ?");

/// Makes the file another one than that on which the heads were written, and than that on which namespaces may begin at 1.
pub(crate) const DISOWN: [&str; 2] =
    ["UPDATE namespaces SET database_identity = ''", "UPDATE tenure_birth SET database_identity = ''"];

/// A page of rows as one text: to hand over rows by themselves, cell by cell, takes several times as long.
macro_rules! page {
    ($columns:literal, $rows:literal) => {
        concat!("SELECT json_group_array(json_array(", $columns, ")) FROM (SELECT ", $columns, " ", $rows, ")")
    };
}

pub(crate) static STATEMENTS: Statements = Statements {
    system: "sqlite",
    scripts: scripts::SQLITE,
    tune_tables: None,
    begin: "BEGIN IMMEDIATE",
    begin_snapshot: "BEGIN",
    read: "SELECT n.revision, n.rows_revision, CASE WHEN n.database_identity = 'file' THEN 1 WHEN n.name IS NULL AND EXISTS \
        (SELECT 1 FROM tenure_birth WHERE said_by = '' AND database_identity = 'file') THEN 1 ELSE 0 END, CAST(unixepoch('subsec') * 1000 AS INTEGER), \
        b.revision, b.previous, b.server, b.number, b.at_ms, b.events \
        FROM (SELECT 1) AS one \
        LEFT JOIN namespaces AS n ON n.name = ? \
        LEFT JOIN (SELECT revision, previous FROM batches \
        WHERE namespace = ? AND revision > ? ORDER BY revision LIMIT ?) AS next ON next.previous < ? \
        LEFT JOIN batches AS b ON b.namespace = n.name AND b.revision = next.revision",
    newest_batch: "SELECT revision FROM batches WHERE namespace = ? AND revision <= ? ORDER BY revision DESC LIMIT 1",
    search: "SELECT previous, server, number, at_ms, events FROM batches \
        WHERE namespace = ? AND revision > ? AND revision <= ? \
        AND (instr(events, ?) > 0 OR instr(substr(events, 1, 64), '\"history_lost\"') > 0) \
        ORDER BY revision DESC",
    heads: "SELECT name, revision FROM namespaces",
    rows_revision: "SELECT rows_revision, lost_revision FROM namespaces WHERE name = ?",
    load_sessions: page!(
        "opened, id, owner, ttl_ms, disconnect_grace_ms, home, attachment, identity, client, metadata",
        "FROM sessions WHERE namespace = ? AND opened > ? ORDER BY opened LIMIT ?"
    ),
    load_claims: page!(
        "id, position, name, state, token, session, opened, owner, priority, min_hold_ms, home, \
        mode, permits, permit_limit, transfer_to, transfer_started, drain_ms, awaited_at, metadata, granted_at_ms",
        "FROM claims WHERE namespace = ? AND id >= ? AND (id > ? OR position > ?) ORDER BY id, position LIMIT ?"
    ),
    load_settings: page!(
        "position, name, permit_limit, settling_ms, drain_ms",
        "FROM settings WHERE namespace = ? AND position > ? ORDER BY position LIMIT ?"
    ),
    load_groups: page!(
        "id, name, membership, leader, token, config, config_revision, assigned, assigned_membership, \
        assigned_config",
        "FROM member_groups WHERE namespace = ? AND id > ? ORDER BY id LIMIT ?"
    ),
    load_members: page!(
        "group_id, number, session, opened, owner, metadata, assignment",
        "FROM group_members WHERE namespace = ? AND group_id >= ? AND (group_id > ? OR number > ?) \
        ORDER BY group_id, number LIMIT ?"
    ),
    advance_rows: "UPDATE namespaces SET rows_revision = ?, lost_revision = ? WHERE name = ? AND rows_revision = ? \
        AND EXISTS (SELECT 1 FROM batches AS b WHERE b.namespace = ? AND b.revision = ?) \
        AND database_identity = 'file'",
    delete_sessions: "DELETE FROM sessions WHERE opened IN (SELECT value FROM json_each(?)) AND namespace = ?",
    delete_claims: "DELETE FROM claims WHERE id IN (SELECT value FROM json_each(?)) AND namespace = ?",
    delete_settings: "DELETE FROM settings WHERE namespace = ?",
    delete_groups: "DELETE FROM member_groups WHERE id IN (SELECT value FROM json_each(?)) AND namespace = ?",
    delete_members: "DELETE FROM group_members WHERE group_id IN (SELECT value FROM json_each(?)) AND namespace = ?",
    beat: "UPDATE servers SET beat = ?, lease_ms = ?, label = ?, address = ?, certificate = ? WHERE id = ? AND NOT dead",
    register: "INSERT INTO servers (beat, lease_ms, label, address, certificate, id, dead) VALUES (?, ?, ?, ?, ?, ?, FALSE) ON CONFLICT DO NOTHING",
    servers: "SELECT id, beat, lease_ms, label, address, certificate, CASE WHEN dead THEN 1 ELSE 0 END FROM servers ORDER BY id",
    mark_dead: "UPDATE servers SET dead = TRUE WHERE id = ? AND beat = ?",
    outlive: "UPDATE servers SET dead = TRUE WHERE id <> ? AND NOT dead",
    forget: "DELETE FROM servers WHERE id IN (SELECT value FROM json_each(?)) AND dead",
    measure: "SELECT MAX(revision), CAST(SUM(bytes) AS INTEGER) FROM (SELECT revision, octet_length(events) AS bytes FROM batches \
        WHERE namespace = ? AND revision > ? ORDER BY revision LIMIT ?) AS piece",
    oldest_batches: "SELECT b.revision, b.previous, b.at_ms, n.rows_revision FROM batches AS b \
        JOIN namespaces AS n ON n.name = b.namespace WHERE b.namespace = ? ORDER BY b.revision LIMIT ?",
    delete_batches: "DELETE FROM batches WHERE namespace = ? AND revision <= ?",
    migrations_exist: "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'tenure_migrations'",
    create_migrations: "CREATE TABLE IF NOT EXISTS tenure_migrations \
        (number INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL) STRICT",
    lock_migrations: "SELECT 1",
    relations: "SELECT name FROM sqlite_schema WHERE lower(name) IN (SELECT value FROM json_each(?)) ORDER BY name",
    own_place: "a file",
    migrations: "SELECT number FROM tenure_migrations ORDER BY number",
    record_migration: "INSERT INTO tenure_migrations (number, name) VALUES (?, ?)",
    birth: "SELECT '', (SELECT birth FROM tenure_birth WHERE said_by = '')",
    record_birth: "INSERT INTO tenure_birth (said_by, birth, database_identity) VALUES ('', ?, 'file') \
        ON CONFLICT (said_by) DO UPDATE SET birth = excluded.birth",
    disown: DISOWN,
};
