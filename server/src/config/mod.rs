//! What a server is told: by flags, by environment variables and by a file, under the same names.
//!
//! `min_ttl` in the file is `--min-ttl` and `TENURE_MIN_TTL`. A flag wins over the environment, which wins over the file,
//! which wins over the default. What is unknown or out of its bounds is refused by name.

mod check;
mod layer;
mod load;
mod security;
mod show;
mod span;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use crate::auth::CredentialOptions;
use crate::store::StoreOptions;
use crate::transport::{ConnectionLimits, TlsFiles};
pub use layer::Layer;
pub use load::{Surroundings, load};

/// A setting that cannot be used, with its name and what would do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

/// All that a server is told, checked.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the server keeps files of its own: the embedded database. Made at start if it is not there.
    pub data_dir: PathBuf,
    /// The database.
    pub store: StoreConfig,
    /// The address for clients.
    pub listen: SocketAddr,
    /// The address for operators, over HTTP: `/livez`, `/readyz`, `/metrics`, and the console.
    pub admin_listen: SocketAddr,
    /// Whether the console is there, too.
    pub console: bool,
    /// Its TLS. `None`: none.
    pub tls: Option<TlsFiles>,
    /// By what clients prove who they are. Nothing is asked of them if there is none.
    pub credentials: CredentialOptions,
    /// Whether to serve other machines even without TLS or without credentials.
    pub allow_insecure: bool,
    /// What people call this server. 1 to 255 bytes without control characters. Default: the host's name.
    pub label: String,
    /// Where the other servers reach this one, as host and port, 0 for the port of `listen`; empty if nowhere. Default:
    /// `listen`, with the host's name if that stands for every address.
    pub advertise: String,
    /// The shortest TTL that a session may ask for. 100 ms to `max_ttl`.
    pub min_ttl: Duration,
    /// The longest TTL that a session may ask for. `min_ttl` to 365 days.
    pub max_ttl: Duration,
    /// How long the other servers wait for a heartbeat of this one before they take its sessions over. 2 s to 60 s.
    pub server_lease: Duration,
    /// How long history is kept: who held what, and what watches resume from. 0 to 3650 days.
    pub history_retention: Duration,
    /// How many bytes of history are kept of each namespace, even if it is younger than that. 16 MiB to 1 PiB.
    pub history_max_bytes: u64,
    /// How long a server that was asked to stop may take. 0 to 10 minutes.
    pub drain_timeout: Duration,
    /// How many namespaces this server serves at the most. 1 to 100000.
    pub max_namespaces: usize,
    /// How many connections there may be. In all 1 to 1000000, default 20000; from one address 1 to that, default half of it.
    pub connections: ConnectionLimits,
    /// How many threads carry out what is asked. 1 to 1000. Default: half of the processors, one at least: one thread fills a
    /// database, which wants the other half if it is on the same machine, and threads that wake each other in vain cost
    /// more than they bring. Many clients that use plain calls are better off with more.
    pub worker_threads: usize,
    /// What is logged, how.
    pub log: LogConfig,
}

/// The database.
#[derive(Clone, Debug)]
pub struct StoreConfig {
    /// `sqlite:<file>`, `postgres://...`, `mysql://...`, the latter two with one or several hosts. May hold a password.
    pub url: SecretString,
    /// The file that the URL was read from, and is read from again for each new connection, if it was given in that way.
    pub url_file: Option<PathBuf>,
    /// The most connections to the database for appends and reads; one or two more serve the rest. 1 to 1000.
    pub max_connections: u32,
    /// How long connecting to one host may take. 100 ms to 60 s.
    pub connect_timeout: Duration,
    /// How long a statement may take. 100 ms to 60 s.
    pub statement_timeout: Duration,
    /// Whether to serve from a database that may lose what it has committed.
    pub allow_unsafe_durability: bool,
    /// Whether to prepare statements on the database's side. Poolers in transaction mode may not bear it.
    pub prepared_statements: bool,
    /// How often to look for what other servers have written. 1 ms to 10 s.
    pub poll_interval: Duration,
    /// Whether to bring the database's tables up to date at start.
    pub migrate: bool,
}

/// What is logged, how.
#[derive(Clone, Debug)]
pub struct LogConfig {
    /// One line a record, for people or for machines.
    pub format: LogFormat,
    /// Which records: a level (`info`), or several by target (`warn,tenure_server=debug`).
    pub level: String,
}

/// How a log record is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

impl LogFormat {
    /// The word for it in settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

impl From<&Config> for StoreOptions {
    fn from(config: &Config) -> Self {
        let store = &config.store;
        Self {
            max_connections: store.max_connections as usize,
            connect_timeout: store.connect_timeout,
            statement_timeout: store.statement_timeout,
            allow_unsafe_durability: store.allow_unsafe_durability,
            prepared_statements: store.prepared_statements,
            url_file: store.url_file.clone(),
            ..Self::new(store.url.expose_secret())
        }
    }
}
