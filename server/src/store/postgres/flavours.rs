//! Statements for PostgreSQL.

use std::sync::LazyLock;

use crate::store::sql::{Appends, Statements, load_statements, scripts, sql};

/// The required facts about a connection: whether it takes writes, what makes its commits durable, whether it is
/// direct.
pub(crate) const FACTS: &str = sql!("facts");

/// A write that changes nothing.
pub(crate) const CONFIRM: &str = sql!("confirm");

/// The statements for one kind of server.
pub(crate) struct Flavour {
    pub(crate) statements: Statements,
    pub(crate) append: Appends,
    pub(crate) append_and_notify: Appends,
}

fn flavour(identity: &str) -> Flavour {
    let statements = load_statements! {
        system: "postgresql",
        scripts: scripts::POSTGRES,
        own_place: "a database or a schema",
        identity: identity
    };
    let append = Appends::new(sql!("append"), &statements);
    let append_and_notify = Appends::new(sql!("append_and_notify"), &statements);
    Flavour { statements, append, append_and_notify }
}

/// Identifies the cluster and its timeline. The timeline is that of the log being written, since the one in the control
/// file lags behind a promotion.
macro_rules! native_identity {
    () => {
        "(SELECT system_identifier::text || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) \
        FROM pg_control_system())"
    };
}

pub(crate) static NATIVE: LazyLock<Flavour> = LazyLock::new(|| flavour(native_identity!()));

/// Like `NATIVE`, with the identity read once: a connection without a pooler to a server that takes writes stays on one
/// cluster and one timeline for its lifetime. Reading the identity takes a quarter of the time of the statement that
/// appends, its commit excluded.
pub(crate) static DIRECT_NATIVE: LazyLock<Flavour> = LazyLock::new(|| flavour("current_setting('tenure.identity')"));

/// Tests whether the identity can be read.
pub(crate) const ASK_IDENTITY: &str = concat!("SELECT ", native_identity!());

/// Stores the identity in a setting of the connection.
pub(crate) const REMEMBER_IDENTITY: &str =
    concat!("SELECT set_config('tenure.identity', ", native_identity!(), ", false)");

/// For servers that do not report an identity, such as Aurora, or deny reading it. Their lost commits show only in the
/// revision.
pub(crate) static UNKNOWN: LazyLock<Flavour> = LazyLock::new(|| flavour("'unknown'"));
