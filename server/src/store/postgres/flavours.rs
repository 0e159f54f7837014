//! What PostgreSQL and its relatives are asked.

use crate::store::sql::{Statements, scripts};

/// The statements for one kind of server.
pub(crate) struct Flavour {
    pub(crate) statements: Statements,
    /// Whether it knows `pg_notify`.
    pub(crate) notifies: bool,
    /// (revision, namespace, previous, server, number, at_ms, events)
    pub(crate) create: &'static str,
    pub(crate) create_anew: &'static str,
    pub(crate) advance: &'static str,
    pub(crate) adopt: &'static str,
    pub(crate) create_and_notify: &'static str,
    pub(crate) advance_and_notify: &'static str,
    pub(crate) adopt_and_notify: &'static str,
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
            scripts: scripts::POSTGRES,
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

pub(crate) static NATIVE: Flavour = flavour!(native_identity!(), true);

/// The same, asked once: a connection without a pooler between, that takes writes, is to one cluster on one timeline for as long
/// as it lives. Asking takes a quarter of the time of the statement that appends, its commit aside.
pub(crate) static DIRECT_NATIVE: Flavour = flavour!("current_setting('tenure.identity')", true);

/// Leaves out YugabyteDB: each of its nodes has a system identifier of its own, and none a log.
macro_rules! unless_yugabyte {
    ($asked:expr) => {
        concat!("SELECT ", $asked, " WHERE version() NOT LIKE '%-YB-%'")
    };
}

/// Whether it can be asked.
pub(crate) const ASK_IDENTITY: &str = unless_yugabyte!(native_identity!());

/// Makes the answer the connection's own.
pub(crate) const REMEMBER_IDENTITY: &str =
    unless_yugabyte!(concat!("set_config('tenure.identity', ", native_identity!(), ", false)"));

/// Engines that speak its language, or do not let us ask. What they lose shows by the revision only.
pub(crate) static COMPATIBLE: Flavour = flavour!("'unknown'", false);

/// Those of them that are PostgreSQL but for their storage, as Aurora.
pub(crate) static DIRECT_COMPATIBLE: Flavour = flavour!("'unknown'", true);

/// Of an engine that does not say who it is: YugabyteDB answers a notification with a warning, and with nothing else.
pub(crate) const ASK_WHETHER_IT_NOTIFIES: &str = unless_yugabyte!("'yes'");
