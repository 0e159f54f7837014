//! Options of a store: which database to open, and how.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::connection::DriverError;
use crate::telemetry::redact::redacted;

/// Which database to open, and how.
#[derive(Clone)]
pub struct StoreOptions {
    /// The location of the database: `sqlite:PATH`, `postgres://…`, `mysql://…` or `mariadb://…`. It may name several
    /// hosts (`postgres://user:password@one:5432,two:5433/name`): they are tried in turn, and the one that takes writes
    /// is used.
    pub url: String,
    /// A file that contains the URL, whose content is in `url`. It is read again for each connection to
    /// PostgreSQL or MySQL, and may change the user, password, host or database, but not the kind of database. Invalid
    /// content is logged and changes nothing. Default none.
    pub url_file: Option<PathBuf>,
    /// Maximum number of connections for appends and reads. One more is used for heartbeats, and with PostgreSQL one
    /// for notifications. Default 4, at least 1.
    pub max_connections: usize,
    /// Time limit for a connection to one host. Default 2 s.
    pub connect_timeout: Duration,
    /// Time limit for the wait for a free connection, and for the result of a statement. Default 5 s.
    pub statement_timeout: Duration,
    /// Whether to accept a database that may lose commits when it crashes. Default false.
    pub allow_unsafe_durability: bool,
    /// Whether to prepare statements by name on PostgreSQL. Faster, but wrong behind a pooler that does not track them;
    /// never done behind a pooler that is detected. Default true.
    pub prepared_statements: bool,
}

impl StoreOptions {
    /// The defaults, for this URL.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            url_file: None,
            max_connections: 4,
            connect_timeout: Duration::from_secs(2),
            statement_timeout: Duration::from_secs(5),
            allow_unsafe_durability: false,
            prepared_statements: true,
        }
    }

    /// The kind of database, as named in settings; `None` if the URL is invalid.
    pub(crate) fn kind(&self) -> Option<&'static str> {
        Some(match self.target().ok()? {
            Target::Sqlite(_) => "sqlite",
            Target::Postgres(_) => "postgres",
            Target::MySql(_) => "mysql",
        })
    }

    /// The kind and location of the database.
    pub(crate) fn target(&self) -> Result<Target, OpenError> {
        let (scheme, rest) = self.url.split_once(':').ok_or(OpenError::Url("scheme required"))?;
        match scheme {
            "sqlite" if rest.is_empty() => Err(OpenError::Url("SQLite needs exactly one path, as in sqlite:PATH")),
            "sqlite" => Ok(Target::Sqlite(PathBuf::from(rest.strip_prefix("//").unwrap_or(rest)))),
            "postgres" | "postgresql" => Ok(Target::Postgres(single_hosts("postgres", rest)?)),
            "mysql" | "mariadb" => Ok(Target::MySql(single_hosts("mysql", rest)?)),
            _ => Err(OpenError::Url("scheme must be sqlite, postgres, mysql or mariadb")),
        }
    }
}

impl fmt::Debug for StoreOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("StoreOptions")
            .field("url", &redacted(&self.url))
            .field("url_file", &self.url_file)
            .field("max_connections", &self.max_connections)
            .field("connect_timeout", &self.connect_timeout)
            .field("statement_timeout", &self.statement_timeout)
            .field("allow_unsafe_durability", &self.allow_unsafe_durability)
            .field("prepared_statements", &self.prepared_statements)
            .finish()
    }
}

/// The kind and location of a database.
pub(crate) enum Target {
    /// A file.
    Sqlite(PathBuf),
    /// A URL for each host.
    Postgres(Vec<String>),
    /// A URL for each host.
    MySql(Vec<String>),
}

/// Splits a URL with several hosts into URLs with one host each.
fn single_hosts(scheme: &str, rest: &str) -> Result<Vec<String>, OpenError> {
    let rest = rest.strip_prefix("//").ok_or(OpenError::Url("// required before the host"))?;
    let end = rest.rfind('@').map_or(0, |at| at + 1);
    let (user, place) = rest.split_at(end);
    let (hosts, path) = place.split_at(place.find(['/', '?']).unwrap_or(place.len()));
    Ok(hosts.split(',').map(|host| format!("{scheme}://{user}{host}{path}")).collect())
}

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL is invalid. The message does not repeat it, since it may contain a password.
    #[error("invalid value for store_url: {0}")]
    Url(&'static str),
    /// Another process owns the file.
    #[error(
        "{0} is in use by another process: a SQLite file belongs to one server, use PostgreSQL or MySQL for several"
    )]
    InUse(PathBuf),
    /// The database cannot be reached, or rejects the connection.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// The commits of the database are not durable.
    #[error("the database may lose commits: {0}: change that, or set allow_unsafe_durability")]
    UnsafeDurability(String),
    /// The database has tables or views that Tenure did not make and whose names it needs.
    #[error("the database has {0}, not created by Tenure: give Tenure {1} of its own")]
    Foreign(String, &'static str),
    /// The tables are missing, or not up to date.
    #[error("pending migrations: {}", .0.join(", "))]
    NotMigrated(Vec<String>),
}

impl From<DriverError> for OpenError {
    fn from(error: DriverError) -> Self {
        match error {
            DriverError::Unsafe(reason) => Self::UnsafeDurability(reason),
            DriverError::Conflict
            | DriverError::Rejected(_)
            | DriverError::ReadOnly(_)
            | DriverError::Unreadable(_)
            | DriverError::Lost(_) => Self::Unavailable(error.reason()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(url: &str) -> Vec<String> {
        match StoreOptions::new(url).target().unwrap() {
            Target::Postgres(hosts) | Target::MySql(hosts) => hosts,
            Target::Sqlite(path) => vec![path.display().to_string()],
        }
    }

    #[test]
    fn url_with_several_hosts_is_split_into_several_urls() {
        assert_eq!(
            hosts("postgres://me:p@ss,word@one:1,two:2/db?sslmode=require"),
            ["postgres://me:p@ss,word@one:1/db?sslmode=require", "postgres://me:p@ss,word@two:2/db?sslmode=require"]
        );
        assert_eq!(hosts("mariadb://one,two"), ["mysql://one", "mysql://two"]);
        assert_eq!(hosts("sqlite:/var/lib/tenure.db"), ["/var/lib/tenure.db"]);
        assert_eq!(hosts("sqlite://relative.db"), ["relative.db"]);
    }

    #[test]
    fn unusable_url_is_rejected_without_repeating_it() {
        for url in ["", "sqlite:", "secret", "oracle://u:secret@h/d", "postgres:secret"] {
            let refusal = StoreOptions::new(url).target().err().unwrap().to_string();
            assert!(!refusal.contains("secret"), "{refusal}");
        }
    }

    #[test]
    fn passwords_are_not_shown() {
        let shown = format!("{:?}", StoreOptions::new("postgres://me:secret@h:1,i:2/db?password=secret"));
        assert!(shown.contains("postgres://me:***@h:1,i:2/db?password=***"), "{shown}");
        assert!(!shown.contains("secret"), "{shown}");
    }
}
