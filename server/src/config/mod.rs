//! Configures a server: by flags, environment variables and a file, with the same names.
//!
//! `min_ttl` in the file is `--min-ttl` and `TENURE_MIN_TTL`. A flag wins over the environment, which wins over the file,
//! which wins over the default. Unknown settings and values out of bounds are rejected by name.
//!
//! [`Settings`] declares each setting once. clap reads flags and variables and overrides with them what serde read from
//! the file: no library that merges sources is used, because those show the line of a syntax error, which may hold a
//! password.

mod check;
mod load;
mod security;
mod settings;
mod span;

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::auth::CredentialOptions;
use crate::store::StoreOptions;
use crate::transport::{ConnectionLimits, TlsFiles};
pub use load::{Surroundings, load};
pub use settings::{Settings, with_settings};
pub use span::Span;

/// An invalid setting, with its name and the accepted values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

/// The validated settings of a server.
#[derive(Clone, Debug)]
pub struct Config {
    /// All settings, with their defaults.
    pub settings: Settings,
    /// The directory of the embedded database. Created at start if it does not exist.
    pub data_dir: PathBuf,
    /// The database connection.
    pub store: StoreOptions,
    /// TLS for clients. `None`: plaintext.
    pub tls: Option<TlsFiles>,
    /// The accepted credentials of clients. If there are none, clients are not authenticated.
    pub credentials: CredentialOptions,
    /// The display name of this server. 1 to 255 bytes without control characters.
    pub label: String,
    /// Where the other servers reach this one, as host and port, 0 for the port of `listen`; empty if nowhere.
    pub advertise: String,
    /// The shortest TTL that a session may ask for. 100 ms to `max_ttl`.
    pub min_ttl: Span,
    /// The maximum number of connections.
    pub connections: ConnectionLimits,
    /// The number of worker threads.
    pub worker_threads: usize,
    /// The log filter: a level (`info`), or several by target (`warn,tenure_server=debug`).
    pub log_level: String,
}

/// Displays as a TOML file, without secrets.
impl fmt::Display for Config {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&toml::to_string(&self.settings).map_err(|_| fmt::Error)?)
    }
}

/// The format of a log record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Plain text.
    Text,
    /// One JSON object per line.
    Json,
}
