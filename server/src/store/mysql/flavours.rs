//! Statements for MySQL and MariaDB.

use std::sync::LazyLock;
use std::time::Duration;

use crate::store::sql::{Appends, Statements, fill, load_statements, scripts, sql};

/// The required facts about a connection: whether it takes writes, and what makes its commits durable.
pub(crate) const FACTS: &str = sql!("facts");

/// Makes a node of a Galera cluster read only after it has applied everything that the cluster had committed until
/// then.
pub(crate) const READ_COMMITTED_BY_ALL: &str = sql!("read_committed_by_all");

/// Makes a member of a group (Group Replication) read only after it has applied everything that the group had committed
/// until then; rejected by a member that has lost its group.
pub(crate) fn read_committed_by_group(statement_timeout: Duration) -> String {
    fill(sql!("read_committed_by_group"), &[("{bound}", &bound(statement_timeout))])
}

/// The statements for one kind of server.
pub(crate) struct Flavour {
    pub(crate) statements: Statements,
    /// Four statements.
    pub(crate) append: Appends,
    /// (revision, namespace, previous, namespace, previous, revision, server, number, at_ms, events): one statement,
    /// which advances the head, and which MariaDB can prepare
    pub(crate) append_at_once: &'static str,
    /// Returns a row if commits are to wait for a replica and do not.
    pub(crate) semi_sync_lapsed: &'static str,
}

fn flavour(system: &'static str, identity: &str) -> Flavour {
    let statements =
        load_statements! { system: system, scripts: scripts::MYSQL, own_place: "a database", identity: identity };
    let append = Appends::new(sql!("append"), &statements);
    let append_at_once = &*fill(sql!("append_at_once"), &[("{identity}", identity)]).leak();
    let (role, schema) =
        if system == "mysql" { ("source", "performance_schema") } else { ("master", "information_schema") };
    let semi_sync_lapsed = &*fill(sql!("semi_sync_lapsed"), &[("{role}", role), ("{schema}", schema)]).leak();
    Flavour { statements, append, append_at_once, semi_sync_lapsed }
}

/// The expressions by which servers identify themselves, best first. Without a network card, as in some containers, all
/// MariaDB servers have the same `server_uid`.
pub(crate) static FLAVOURS: LazyLock<[(&str, Flavour); 3]> = LazyLock::new(|| {
    [
        ("SELECT @@server_uuid", flavour("mysql", "@@server_uuid")),
        (
            "SELECT 'named' FROM (SELECT @@server_uid AS name) AS one WHERE name <> 'unknown'",
            flavour("mariadb", "@@server_uid"),
        ),
        ("SELECT @@hostname", flavour("mariadb", "CONCAT(@@hostname, ':', @@port, '/', @@server_id)")),
    ]
});

/// The statements that set up a connection.
pub(crate) fn settings(statement_timeout: Duration) -> String {
    fill(sql!("settings"), &[("{bound}", &bound(statement_timeout))])
}

/// A time limit in seconds.
fn bound(statement_timeout: Duration) -> String {
    statement_timeout.as_secs().max(1).to_string()
}
