//! What PostgreSQL and its relatives are asked.

use std::sync::LazyLock;

use crate::store::sql::{Appends, Statements, load_statements, scripts, sql};

/// What must be known of a connection: whether it takes writes, what makes its commits durable, whether it is direct.
pub(crate) const FACTS: &str = sql!("facts");

/// Writes what changes nothing.
pub(crate) const CONFIRM: &str = sql!("confirm");

/// The statements for one kind of server.
pub(crate) struct Flavour {
    pub(crate) statements: Statements,
    /// Whether it knows `pg_notify`.
    pub(crate) notifies: bool,
    /// (revision, namespace, previous, server, number, at_ms, events)
    pub(crate) append: Appends,
    pub(crate) append_and_notify: Appends,
}

fn flavour(identity: &str, notifies: bool) -> Flavour {
    let statements = load_statements! {
        system: "postgresql",
        scripts: scripts::POSTGRES,
        own_place: "a database or a schema",
        identity: identity
    };
    let append = Appends::new(sql!("append"), &statements);
    let append_and_notify = Appends::new(sql!("append_and_notify"), &statements);
    Flavour { statements, notifies, append, append_and_notify }
}

/// PostgreSQL itself: which cluster, and which timeline of it. The timeline is that of the log being written, since the
/// one in the control file lags behind a promotion.
macro_rules! native_identity {
    () => {
        "(SELECT system_identifier::text || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) \
        FROM pg_control_system())"
    };
}

pub(crate) static NATIVE: LazyLock<Flavour> = LazyLock::new(|| flavour(native_identity!(), true));

/// The same, asked once: a connection without a pooler between, that takes writes, is to one cluster on one timeline for as long
/// as it lives. Asking takes a quarter of the time of the statement that appends, its commit aside.
pub(crate) static DIRECT_NATIVE: LazyLock<Flavour> =
    LazyLock::new(|| flavour("current_setting('tenure.identity')", true));

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
pub(crate) static COMPATIBLE: LazyLock<Flavour> = LazyLock::new(|| flavour("'unknown'", false));

/// Those of them that are PostgreSQL but for their storage, as Aurora.
pub(crate) static DIRECT_COMPATIBLE: LazyLock<Flavour> = LazyLock::new(|| flavour("'unknown'", true));

/// Of an engine that does not say who it is: YugabyteDB answers a notification with a warning, and with nothing else.
pub(crate) const ASK_WHETHER_IT_NOTIFIES: &str = unless_yugabyte!("'yes'");
