//! What databases are asked: the statements of a dialect, and the tables that they write.
//!
//! Each statement is in a file of its own, `sql/NAME.sql` in the folder of its dialect: `diff -r` of two such folders shows in what the
//! dialects differ.

use super::scripts::Migration;

/// A table that sums up the log, and its columns in the order in which they are written: the namespace first.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [&'static str],
}

/// How the head is moved by an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeadMove {
    /// The namespace is new: create its head, if this is the database as it was made first.
    Create,
    /// The namespace is new, or was lost: create its head and make this database the head's.
    CreateAnew,
    /// Raise the revision, if the head was written on this database.
    Advance,
    /// Raise the revision and make this database the head's.
    Adopt,
}

/// The text of `sql/NAME.sql` beside the file that says this.
macro_rules! sql {
    ($name:expr) => {
        include_str!(concat!("sql/", $name, ".sql"))
    };
}

pub(crate) use sql;

/// A statement as it is sent: on one line, without comments, and with these texts in the places of their names.
pub(crate) fn fill(text: &str, values: &[(&str, &str)]) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.starts_with("--")).collect();
    values.iter().fold(lines.join(" "), |filled, (name, value)| filled.replace(name, value))
}

/// Makes the struct of the statements, and what reads them.
macro_rules! statements {
    ($dollar:tt $($(#[$doc:meta])* $name:ident,)*) => {
        /// The statements of a dialect. Arguments are in the order named here, whatever the dialect.
        #[derive(Debug)]
        pub(crate) struct Statements {
            /// What this kind of database is called in traces.
            pub(crate) system: &'static str,
            /// What makes the tables.
            pub(crate) scripts: &'static [Migration],
            /// What is to be done where the names of our tables are taken.
            pub(crate) own_place: &'static str,
            $($(#[$doc])* pub(crate) $name: &'static str,)*
        }

        /// Reads the files beside the file that says this. `identity`: the expression for which `{identity}` stands, what tells one
        /// database from another.
        macro_rules! load_statements {
            (system: $dollar system:expr, scripts: $dollar scripts:expr, own_place: $dollar own_place:expr, identity: $dollar identity:expr) => {
                $crate::store::sql::Statements {
                    system: $dollar system,
                    scripts: $dollar scripts,
                    own_place: $dollar own_place,
                    $($name: $crate::store::sql::fill(
                        $crate::store::sql::sql!(stringify!($name)),
                        &[("{identity}", $dollar identity)],
                    )
                    .leak(),)*
                }
            };
        }

        pub(crate) use load_statements;
    };
}

statements! { $
    /// Begins a transaction that writes.
    begin,
    /// Begins a transaction that reads, all of it as of one moment. Statements separated by `;`.
    begin_snapshot,
    /// (namespace, namespace, after, most batches, end) → head revision or null, rows' revision, 1 if the head was written
    /// on this database, the clock in ms; and for each batch, in any order, revision or null, previous, server, number, at_ms, events.
    read,
    /// (namespace, until) → revision of the newest batch that ends there or before
    newest_batch,
    /// (namespace, after, until, JSON text) → previous, server, number, at_ms, events of the batches that end there, newest
    /// first, and have this text in their events or declare a loss
    search,
    /// () → name, revision
    heads,
    /// (namespace) → the rows' revision, and that of the last loss of history that they sum up, or 0
    rows_revision,
    /// (namespace, opened to begin after, most) → opened, id, owner, ttl_ms, disconnect_grace_ms or null, home,
    /// attachment, identity or null, client or null, metadata
    load_sessions,
    /// (namespace, id and again id and position to begin after, most) → id, position, name, state, token or null, session,
    /// opened, owner, priority, min_hold_ms, home or null, mode, permits or null, permit_limit or null, transfer_to or null,
    /// transfer_started or null, drain_ms or null, awaited_at or null, metadata, granted_at_ms or null
    load_claims,
    /// (namespace, position to begin after, most) → position, name, permit_limit or null, settling_ms or null,
    /// drain_ms or null
    load_settings,
    /// (namespace, id to begin after, most) → id, name, membership, leader or null, token or null, config or null,
    /// config_revision or null, assigned or null, assigned_membership or null, assigned_config or null
    load_groups,
    /// (namespace, group_id and again group_id and number to begin after, most) → group_id, number, session, opened, owner,
    /// metadata, assignment or null
    load_members,
    /// (to, lost, namespace, from, namespace, to): the rows' compare-and-set
    advance_rows,
    /// (opened as JSON, namespace)
    delete_sessions,
    /// (ids as JSON, namespace)
    delete_claims,
    /// (namespace): all of them
    delete_settings,
    /// (ids as JSON, namespace)
    delete_groups,
    /// (ids of groups as JSON, namespace)
    delete_members,
    /// (heartbeat, lease_ms, label, address, certificate, id): unless dead
    heartbeat,
    /// (heartbeat, lease_ms, label, address, certificate, id): unless there already
    register,
    /// () → id, heartbeat, lease_ms, label, address, certificate, 1 if dead
    servers,
    /// (id, heartbeat)
    mark_dead,
    /// (id)
    outlive,
    /// (ids as JSON): those that are dead
    forget,
    /// (namespace, after, most) → revision of the last of the oldest batches after that, or null, and the bytes of their events
    measure,
    /// (namespace, most) → revision, previous, at_ms, the rows' revision
    oldest_batches,
    /// (namespace, last revision)
    delete_batches,
    /// () → 1 if the table of migrations is there
    migrations_exist,
    /// Makes the table of migrations, unless it is there.
    create_migrations,
    /// Makes others wait who want to migrate, until the transaction or the connection ends.
    lock_migrations,
    /// (names as JSON) → those of them that relations of the database have, in the order of their names
    relations,
    /// () → number
    migrations,
    /// (number, name)
    record_migration,
    /// () → what the database says of when its tables were made, what it said of that before or null
    created_identity,
    /// (created_identity): on this database, unless there is a record of it or of another server
    record_created_identity,
    /// Make the database another one than that on which the heads were written,
    reset_heads,
    /// and than that on which namespaces may begin at 1.
    reset_created_since,
    /// What makes the tables faster, or nothing. Whether the database can do it does not matter.
    tune_tables,
    /// Moves the head by [`HeadMove::Create`]. The arguments of these four are up to the dialect.
    create_head,
    /// Moves the head by [`HeadMove::CreateAnew`].
    create_head_anew,
    /// Moves the head by [`HeadMove::Advance`].
    advance_head,
    /// Moves the head by [`HeadMove::Adopt`].
    adopt_head,
}

/// What appends a batch in one way, for each move of the head.
#[derive(Debug)]
pub(crate) struct Appends([&'static str; 4]);

impl Appends {
    /// From a text in which `{head}` stands for what moves the head.
    pub(crate) fn new(text: &str, statements: &Statements) -> Self {
        let heads =
            [statements.create_head, statements.create_head_anew, statements.advance_head, statements.adopt_head];
        Self(heads.map(|head| &*fill(text, &[("{head}", head)]).leak()))
    }

    pub(crate) fn of(&self, head: HeadMove) -> &'static str {
        self.0[head as usize]
    }
}
