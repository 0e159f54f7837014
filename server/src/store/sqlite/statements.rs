//! What SQLite is asked.

use std::sync::LazyLock;

use crate::store::sql::{Appends, Statements, load_statements, scripts, sql};

/// The file is the database: one that was put back from a copy shows it by its revision only.
pub(crate) static STATEMENTS: LazyLock<Statements> = LazyLock::new(|| {
    load_statements! { system: "sqlite", scripts: scripts::SQLITE, own_place: "a file", identity: "'file'" }
});

/// (revision, namespace, previous if there is one), then (namespace, previous, revision, server, number, at_ms, events)
pub(crate) static APPEND: LazyLock<Appends> = LazyLock::new(|| Appends::new(sql!("append"), &STATEMENTS));

/// Gives a row if the file is ours, or nobody's yet.
pub(crate) const IS_OURS: &str = sql!("is_ours");
