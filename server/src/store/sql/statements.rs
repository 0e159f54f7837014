//! What databases are asked: the statements of a dialect, and the tables that they write.

use super::scripts::Migration;

/// A table that sums up the log, and its columns in the order in which they are written: the namespace first.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [&'static str],
}

/// The statements of a dialect. Arguments are in the order named here, whatever the dialect.
#[derive(Debug)]
pub(crate) struct Statements {
    /// What this kind of database is called in traces.
    pub(crate) system: &'static str,
    /// What makes the tables.
    pub(crate) scripts: &'static [Migration],
    /// What makes them faster where the database can do that. Whether it can does not matter.
    pub(crate) tune_tables: Option<&'static str>,
    /// Begins a transaction that writes.
    pub(crate) begin: &'static str,
    /// Begins a transaction that reads, all of it as of one moment. Statements separated by `;`.
    pub(crate) begin_snapshot: &'static str,
    /// (namespace, namespace, after, most batches, end) → head revision or null, rows' revision, 1 if the head was written
    /// on this database, the clock in ms; and for each batch, in any order, revision or null, previous, server, number, at_ms, events.
    pub(crate) read: &'static str,
    /// (namespace, until) → revision of the newest batch that ends there or before
    pub(crate) newest_batch: &'static str,
    /// (namespace, after, until, JSON text) → previous, server, number, at_ms, events of the batches that end there, newest
    /// first, and have this text in their events or declare a loss
    pub(crate) search: &'static str,
    /// () → name, revision
    pub(crate) heads: &'static str,
    /// (namespace) → the rows' revision, and that of the last loss of history that they sum up, or 0
    pub(crate) rows_revision: &'static str,
    /// (namespace, opened to begin after, most) → opened, id, owner, ttl_ms, disconnect_grace_ms or null, home,
    /// attachment, identity or null, client or null, metadata
    pub(crate) load_sessions: &'static str,
    /// (namespace, id and again id and position to begin after, most) → id, position, name, state, token or null, session,
    /// opened, owner, priority, min_hold_ms, home or null, mode, permits or null, permit_limit or null, transfer_to or null,
    /// transfer_started or null, drain_ms or null, awaited_at or null, metadata, granted_at_ms or null
    pub(crate) load_claims: &'static str,
    /// (namespace, position to begin after, most) → position, name, permit_limit or null, settling_ms or null,
    /// drain_ms or null
    pub(crate) load_settings: &'static str,
    /// (namespace, id to begin after, most) → id, name, membership, leader or null, token or null, config or null,
    /// config_revision or null, assigned or null, assigned_membership or null, assigned_config or null
    pub(crate) load_groups: &'static str,
    /// (namespace, group_id and again group_id and number to begin after, most) → group_id, number, session, opened, owner,
    /// metadata, assignment or null
    pub(crate) load_members: &'static str,
    /// (to, lost, namespace, from, namespace, to): the rows' compare-and-set
    pub(crate) advance_rows: &'static str,
    /// (opened as JSON, namespace)
    pub(crate) delete_sessions: &'static str,
    /// (ids as JSON, namespace)
    pub(crate) delete_claims: &'static str,
    /// (namespace): all of them
    pub(crate) delete_settings: &'static str,
    /// (ids as JSON, namespace)
    pub(crate) delete_groups: &'static str,
    /// (ids of groups as JSON, namespace)
    pub(crate) delete_members: &'static str,
    /// (beat, lease_ms, label, address, certificate, id): unless dead
    pub(crate) beat: &'static str,
    /// (beat, lease_ms, label, address, certificate, id): unless there already
    pub(crate) register: &'static str,
    /// () → id, beat, lease_ms, label, address, certificate, 1 if dead
    pub(crate) servers: &'static str,
    /// (id, beat)
    pub(crate) mark_dead: &'static str,
    /// (id)
    pub(crate) outlive: &'static str,
    /// (ids as JSON): those that are dead
    pub(crate) forget: &'static str,
    /// (namespace, after, most) → revision of the last of the oldest batches after that, or null, and the bytes of their events
    pub(crate) measure: &'static str,
    /// (namespace, most) → revision, previous, at_ms, the rows' revision
    pub(crate) oldest_batches: &'static str,
    /// (namespace, last revision)
    pub(crate) delete_batches: &'static str,
    /// () → 1 if the table of migrations is there
    pub(crate) migrations_exist: &'static str,
    /// Makes the table of migrations, unless it is there.
    pub(crate) create_migrations: &'static str,
    /// Makes others wait who want to migrate, until the transaction or the connection ends.
    pub(crate) lock_migrations: &'static str,
    /// (names as JSON) → those of them that relations of the database have, in the order of their names
    pub(crate) relations: &'static str,
    /// What is to be done where the names of our tables are taken.
    pub(crate) own_place: &'static str,
    /// () → number
    pub(crate) migrations: &'static str,
    /// (number, name)
    pub(crate) record_migration: &'static str,
    /// () → what the database says of when its tables were made, what it said of that before or null
    pub(crate) birth: &'static str,
    /// (birth): on this database, unless there is a record of it or of another server
    pub(crate) record_birth: &'static str,
    /// Make the database another one than that on which the heads were written, and than that on which namespaces may begin at 1.
    pub(crate) disown: [&'static str; 2],
}
