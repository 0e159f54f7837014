//! What MySQL and MariaDB are asked.

use std::sync::LazyLock;
use std::time::Duration;

use crate::store::sql::{Appends, Statements, fill, load_statements, scripts, sql};

/// What must be known of a connection: whether it takes writes, what makes its commits durable.
pub(crate) const FACTS: &str = sql!("facts");

/// Has a node of a Galera cluster read only when it has applied what the cluster had committed until then.
pub(crate) const READ_COMMITTED_BY_ALL: &str = sql!("read_committed_by_all");

/// The statements for one kind of server.
pub(crate) struct Flavour {
    pub(crate) statements: Statements,
    /// (revision, namespace, previous if there is one, previous, server, number, at_ms, events, namespace, revision): four statements
    pub(crate) append: Appends,
    /// (revision, namespace, previous, namespace, previous, revision, server, number, at_ms, events): one that can be prepared, of MariaDB
    pub(crate) append_at_once: Appends,
}

fn flavour(system: &'static str, identity: &str) -> Flavour {
    let statements =
        load_statements! { system: system, scripts: scripts::MYSQL, own_place: "a database", identity: identity };
    let append = Appends::new(sql!("append"), &statements);
    let append_at_once = Appends::new(sql!("append_at_once"), &statements);
    Flavour { statements, append, append_at_once }
}

/// The ways in which servers name themselves, best first. Where there is no network card, as in some containers, all of MariaDB's have
/// the same `server_uid`.
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

/// What a connection begins with.
pub(crate) fn settings(statement_timeout: Duration) -> String {
    let bound = statement_timeout.as_secs().max(1);
    fill(sql!("settings"), &[("{bound}", &bound.to_string())])
}
