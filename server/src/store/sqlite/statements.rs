//! Statements for SQLite.

use std::sync::LazyLock;

use crate::store::sql::{Appends, Statements, load_statements, scripts, sql};

/// The identity is constant, since the file is the database: a file that was restored from a copy shows it only by its
/// revision.
pub(crate) static STATEMENTS: LazyLock<Statements> = LazyLock::new(|| {
    load_statements! { system: "sqlite", scripts: scripts::SQLITE, own_place: "a file", identity: "'file'" }
});

pub(crate) static APPEND: LazyLock<Appends> = LazyLock::new(|| Appends::new(sql!("append"), &STATEMENTS));

/// Returns a row if the file is Tenure's, or empty.
pub(crate) const IS_OURS: &str = sql!("is_ours");
