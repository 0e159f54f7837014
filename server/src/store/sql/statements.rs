//! The statements of a dialect, and the tables that they write.
//!
//! Each statement is in a file of its own, `sql/NAME.sql` in the folder of its dialect: `diff -r` of two such folders
//! shows how the dialects differ.

use super::scripts::Migration;

/// A table that sums up the log, and its columns in the order in which they are written, the namespace first.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [&'static str],
}

/// How an append moves the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeadMove {
    /// The namespace is new: create its head, if the tables were created on this database.
    Create,
    /// The namespace is new, or was lost: create its head and make this database the head's.
    CreateAnew,
    /// Raise the revision, if the head was written on this database.
    Advance,
    /// Raise the revision and make this database the head's.
    Adopt,
}

/// The text of `sql/NAME.sql` beside the calling file.
macro_rules! sql {
    ($name:expr) => {
        include_str!(concat!("sql/", $name, ".sql"))
    };
}

pub(crate) use sql;

/// Prepares a statement for sending: on one line, without comments, with placeholders replaced by `values`.
pub(crate) fn fill(text: &str, values: &[(&str, &str)]) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.starts_with("--")).collect();
    values.iter().fold(lines.join(" "), |filled, (name, value)| filled.replace(name, value))
}

/// Defines [`Statements`] and the macro that loads them.
macro_rules! statements {
    ($dollar:tt $($(#[$doc:meta])* $name:ident,)*) => {
        /// The statements of a dialect. Arguments are in the order named here, whatever the dialect.
        #[derive(Debug)]
        pub(crate) struct Statements {
            /// The name of this kind of database in traces.
            pub(crate) system: &'static str,
            /// The scripts that create the tables.
            pub(crate) scripts: &'static [Migration],
            /// The kind of container that Tenure needs of its own where the names of its tables are taken.
            pub(crate) own_place: &'static str,
            $($(#[$doc])* pub(crate) $name: &'static str,)*
        }

        /// Loads the files beside the calling file. `identity` replaces `{identity}`: an expression that distinguishes
        /// one database from another.
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
    /// Begins a transaction that reads as of one moment. Statements are separated by `;`.
    begin_snapshot,
    /// (namespace, namespace, after, most batches, end) → head revision or null, rows' revision, 1 if the head was
    /// written on this database, the clock in ms; and for each batch, in any order, revision or null, previous, server,
    /// number, at_ms, events
    read,
    /// (namespace, until) → revision of the newest batch that ends at `until` or before
    newest_batch,
    /// (namespace, after, until, JSON text) → previous, server, number, at_ms, events of the batches that end in that
    /// range, newest first, and contain this text in their events or declare a loss
    search,
    /// () → name, revision
    heads,
    /// (namespace) → the rows' revision, and the revision of the last loss of history that they sum up, or 0
    row_head,
    /// (namespace, id to begin after, most) → id, epoch, home, identity or null, last
    load_clients,
    /// (namespace, opened to begin after, most) → opened, id, owner, ttl_ms, disconnect_grace_ms or null, home,
    /// identity or null, client or null, declared, metadata
    load_sessions,
    /// (namespace, id and again id and position to begin after, most) → id, position, name, state, token or null,
    /// session, opened, owner, priority, min_hold_ms, home or null, mode, permits or null, permit_limit or null,
    /// transfer_to or null, transfer_started or null, drain_ms or null, waiting_server or null, metadata,
    /// granted_at_ms or null, declared
    load_claims,
    /// (namespace, position to begin after, most) → position, name, permit_limit or null, settling_ms or null,
    /// drain_ms or null
    load_settings,
    /// (namespace, id to begin after, most) → id, name, membership, leader or null, token or null, config or null,
    /// config_revision or null, assigned or null, assigned_membership or null, assigned_config or null
    load_groups,
    /// (namespace, group_id and again group_id and number to begin after, most) → group_id, number, session, opened,
    /// owner, metadata, assignment or null, declared
    load_members,
    /// (namespace): unless it is there
    create_row_head,
    /// (to, lost, namespace, from, namespace, to, namespace): the rows' compare-and-set
    advance_rows,
    /// (ids as JSON, namespace)
    delete_clients,
    /// (opened as JSON, namespace)
    delete_sessions,
    /// (ids as JSON, namespace)
    delete_claims,
    /// (namespace): deletes all settings
    delete_settings,
    /// (ids as JSON, namespace)
    delete_groups,
    /// (ids of groups as JSON, namespace)
    delete_members,
    /// (heartbeat, lease_ms, label, address, certificate, id): unless the server is dead
    heartbeat,
    /// (heartbeat, lease_ms, label, address, certificate, id): unless the server exists already
    register,
    /// () → id, heartbeat, lease_ms, label, address, certificate, 1 if dead
    servers,
    /// (id, heartbeat)
    mark_dead,
    /// (id)
    outlive,
    /// (ids as JSON): deletes the dead ones
    forget,
    /// (namespace, after, most) → revision of the last of the oldest batches after `after`, or null, and the bytes of
    /// their events
    measure,
    /// (namespace, most) → revision, previous, at_ms, the rows' revision
    oldest_batches,
    /// (namespace, last revision)
    delete_batches,
    /// () → 1 if the table of migrations exists
    migrations_exist,
    /// Creates the table of migrations, unless it exists.
    create_migrations,
    /// Blocks other migrations until the transaction or the connection ends.
    lock_migrations,
    /// (names as JSON) → those of the names that relations of the database have, in alphabetical order
    relations,
    /// () → number
    migrations,
    /// (number, name)
    record_migration,
    /// () → the creation of the tables as the database reports it, and as recorded before, or null
    created_identity,
    /// (created_identity): with this database's identity, unless a record of it or of another server exists
    record_created_identity,
    /// Makes this database differ from the one that the heads were written on.
    reset_heads,
    /// Makes this database differ from the one on which namespaces may begin at 1.
    reset_created_since,
    /// Makes the tables faster, or does nothing. A failure is ignored, since not every database supports it.
    tune_tables,
    /// Moves the head by [`HeadMove::Create`]. These four statements refer to
    /// [`Append::args`](super::connection::Append::args) by number: `$1` and so on.
    create_head,
    /// Moves the head by [`HeadMove::CreateAnew`].
    create_head_anew,
    /// Moves the head by [`HeadMove::Advance`].
    advance_head,
    /// Moves the head by [`HeadMove::Adopt`].
    adopt_head,
}

/// The statements that append a batch in one way, for each move of the head.
#[derive(Debug)]
pub(crate) struct Appends([&'static str; 4]);

impl Appends {
    /// From a text in which `{head}` stands for the statement that moves the head, and `$1` and so on for
    /// [`Append::args`](super::connection::Append::args).
    pub(crate) fn new(text: &str, statements: &Statements) -> Self {
        let heads =
            [statements.create_head, statements.create_head_anew, statements.advance_head, statements.adopt_head];
        Self(heads.map(|head| &*fill(text, &[("{head}", head)]).leak()))
    }

    pub(crate) fn of(&self, head: HeadMove) -> &'static str {
        self.0[head as usize]
    }
}
