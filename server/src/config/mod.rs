//! Configures a server: by flags, environment variables and a file, with the same names.
//!
//! `min_ttl` in the file is `--min-ttl` and `TENURE_MIN_TTL`. A flag wins over the environment, which wins over the file,
//! which wins over the default. Unknown settings and values out of bounds are rejected by name.

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

/// An invalid setting, with its name and the accepted values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

/// The validated settings of a server.
#[derive(Clone, Debug)]
pub struct Config {
    /// The directory of the embedded database. Created at start if it does not exist.
    pub data_dir: PathBuf,
    /// The database connection.
    pub store: StoreConfig,
    /// The address for clients.
    pub listen: SocketAddr,
    /// The address for operators, over HTTP: `/livez`, `/readyz`, `/metrics`, and the console.
    pub admin_listen: SocketAddr,
    /// Whether the console is served.
    pub console: bool,
    /// TLS for clients. `None`: plaintext.
    pub tls: Option<TlsFiles>,
    /// The accepted credentials of clients. If there are none, clients are not authenticated.
    pub credentials: CredentialOptions,
    /// Whether to serve other machines even without TLS or without credentials.
    pub allow_insecure: bool,
    /// The display name of this server. 1 to 255 bytes without control characters. Default: the host name.
    pub label: String,
    /// Where the other servers reach this one, as host and port, 0 for the port of `listen`; empty if nowhere. Default:
    /// `listen`, with the host's name if that stands for every address.
    pub advertise: String,
    /// The shortest TTL that a session may ask for. 100 ms to `max_ttl`.
    pub min_ttl: Duration,
    /// The longest TTL that a session may ask for. `min_ttl` to 365 days.
    pub max_ttl: Duration,
    /// How long the other servers wait for a heartbeat of this one before they adopt its sessions. 2 s to 60 s.
    pub server_lease: Duration,
    /// How long history is kept: past holds, and the events that watches resume from. 0 to 3650 days.
    pub history_retention: Duration,
    /// The maximum size of the history of each namespace, in bytes, even if it is younger. 16 MiB to 1 PiB.
    pub history_max_bytes: u64,
    /// How long a graceful stop may take. 0 to 10 minutes.
    pub drain_timeout: Duration,
    /// The maximum number of namespaces. 1 to 100000.
    pub max_namespaces: usize,
    /// The maximum number of connections. In all 1 to 1000000, default 20000; from one address 1 to that, default half of
    /// it.
    pub connections: ConnectionLimits,
    /// The number of worker threads. 1 to 1000. Default: half of the processors, at least one. One thread saturates a
    /// database, which needs the other half if it runs on the same machine, and needless wakeups between threads cost
    /// more than they gain. More threads help with many clients that use plain calls.
    pub worker_threads: usize,
    /// The log format and filter.
    pub log: LogConfig,
}

/// The database connection.
#[derive(Clone, Debug)]
pub struct StoreConfig {
    /// `sqlite:<file>`, `postgres://...`, `mysql://...`, the latter two with one or several hosts. May hold a password.
    pub url: SecretString,
    /// The file that the URL was read from, if any. It is read again for each new connection.
    pub url_file: Option<PathBuf>,
    /// The maximum number of database connections for appends and reads; one or two more serve the rest. 1 to 1000.
    pub max_connections: u32,
    /// How long connecting to one host may take. 100 ms to 60 s.
    pub connect_timeout: Duration,
    /// How long a statement may take. 100 ms to 60 s.
    pub statement_timeout: Duration,
    /// Whether to accept a database that may lose commits.
    pub allow_unsafe_durability: bool,
    /// Whether to use server-side prepared statements. Poolers in transaction mode may not support them.
    pub prepared_statements: bool,
    /// How often to poll for commits of other servers. 1 ms to 10 s.
    pub poll_interval: Duration,
    /// Whether to run migrations at start.
    pub migrate: bool,
}

/// The log format and filter.
#[derive(Clone, Debug)]
pub struct LogConfig {
    /// The format of log records, one per line.
    pub format: LogFormat,
    /// The filter: a level (`info`), or several by target (`warn,tenure_server=debug`).
    pub level: String,
}

/// The format of a log record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Plain text.
    Text,
    /// One JSON object per line.
    Json,
}

impl LogFormat {
    /// The value in settings.
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
