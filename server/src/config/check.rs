//! Fills in the defaults that depend on other settings or on the environment, and checks bounds.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::uri::Authority;
use secrecy::ExposeSecret;
use tracing_subscriber::EnvFilter;

use super::{Config, ConfigError, Settings, Span, Surroundings, load, security};
use crate::store::StoreOptions;
use crate::transport::ConnectionLimits;

impl Config {
    /// Fills in the remaining defaults of `settings` and checks them.
    ///
    /// # Errors
    /// If a setting is out of its bounds, or a variable is unknown; names it.
    pub fn new(mut settings: Settings, surroundings: &Surroundings) -> Result<Self, ConfigError> {
        load::reject_unknown_variables(surroundings)?;
        check_bounds(&settings)?;
        let data_dir = settings.data_dir.get_or_insert_with(|| default_data_dir(surroundings)).clone();
        if let Some((name, path)) = settings.paths().find(|(_, path)| path.to_str().is_none()) {
            return Err(ConfigError(format!("{name} is {}: it must be UTF-8", path.display())));
        }
        let default_url = || format!("sqlite:{}", data_dir.join("tenure.db").display()).into();
        let url = settings.store_url.get_or_insert_with(default_url).expose_secret().to_owned();
        check_url(&url)?;
        let store = StoreOptions {
            max_connections: settings.store_max_connections,
            connect_timeout: settings.store_connect_timeout.0,
            statement_timeout: settings.store_statement_timeout.0,
            allow_unsafe_durability: settings.store_allow_unsafe_durability,
            prepared_statements: settings.store_prepared_statements,
            url_file: settings.store_url_file.clone(),
            ..StoreOptions::new(url)
        };
        let label = settings.label.get_or_insert_with(|| surroundings.host.clone()).clone();
        if label.is_empty() || label.len() > 255 || label.chars().any(char::is_control) {
            return Err(ConfigError("label must be 1 to 255 bytes without control characters".into()));
        }
        let default_address = || match settings.listen {
            listen if listen.ip().is_unspecified() => format!("{}:{}", surroundings.host, listen.port()),
            listen => listen.to_string(),
        };
        let advertise = settings.advertise.get_or_insert_with(default_address).clone();
        check_address(&advertise)?;
        // A default min_ttl above a configured max_ttl would be a bound that the operator did not set.
        let min_ttl = *settings.min_ttl.get_or_insert(settings.max_ttl.min(millis(500)));
        within("min_ttl", min_ttl, millis(100)..=settings.max_ttl)?;
        let most = settings.max_connections;
        let of_one_address = *settings.max_connections_per_address.get_or_insert(most.div_ceil(2));
        within("max_connections_per_address", of_one_address, 1..=most)?;
        // One thread saturates a database, which needs the other half of the processors if it runs on the same machine,
        // and needless wakeups between threads cost more than they gain. More threads help with many plain calls.
        let half = surroundings.processors.div_ceil(2).max(1);
        let worker_threads = *settings.worker_threads.get_or_insert(half);
        within("worker_threads", worker_threads, 1..=1000)?;
        let default_level = || surroundings.variable("RUST_LOG")?.into_string().ok();
        let default_level = || default_level().unwrap_or_else(|| "info".into());
        let log_level = settings.log_level.get_or_insert_with(default_level).clone();
        EnvFilter::try_new(&log_level)
            .map_err(|error| ConfigError(format!("invalid value for log_level: \"{log_level}\": {error}")))?;
        security::check_needs(&settings)?;
        let tls = security::tls(&settings);
        let credentials = security::credentials(&mut settings)?;
        security::check(settings.listen, tls.is_some(), &credentials, settings.allow_insecure)?;
        let connections = ConnectionLimits { connections: most, of_one_address, ..ConnectionLimits::default() };
        Ok(Self {
            settings,
            data_dir,
            store,
            tls,
            credentials,
            label,
            advertise,
            min_ttl,
            connections,
            worker_threads,
            log_level,
        })
    }
}

fn check_bounds(settings: &Settings) -> Result<(), ConfigError> {
    const DAY: u64 = 24 * 60 * 60;
    within("store_max_connections", settings.store_max_connections, 1..=1000)?;
    within("store_connect_timeout", settings.store_connect_timeout, millis(100)..=seconds(60))?;
    within("store_statement_timeout", settings.store_statement_timeout, millis(100)..=seconds(60))?;
    within("store_poll_interval", settings.store_poll_interval, millis(1)..=seconds(10))?;
    within("max_ttl", settings.max_ttl, millis(100)..=seconds(365 * DAY))?;
    within("server_lease", settings.server_lease, seconds(2)..=seconds(60))?;
    within("history_retention", settings.history_retention, seconds(0)..=seconds(3650 * DAY))?;
    within("history_max_bytes", settings.history_max_bytes, 1 << 24..=1 << 50)?;
    within("drain_timeout", settings.drain_timeout, seconds(0)..=seconds(600))?;
    within("max_namespaces", settings.max_namespaces, 1..=100_000)?;
    within("max_connections", settings.max_connections, 1..=1_000_000)
}

fn within<T: PartialOrd + Display>(name: &str, value: T, bounds: RangeInclusive<T>) -> Result<(), ConfigError> {
    if bounds.contains(&value) {
        return Ok(());
    }
    Err(ConfigError(format!("{name} is {value}: it must be {} to {}", bounds.start(), bounds.end())))
}

fn millis(number: u64) -> Span {
    Span(Duration::from_millis(number))
}

fn seconds(number: u64) -> Span {
    Span(Duration::from_secs(number))
}

fn default_data_dir(surroundings: &Surroundings) -> PathBuf {
    if let Some(data) = surroundings.variable("XDG_DATA_HOME") {
        return Path::new(&data).join("tenure");
    }
    match surroundings.variable("HOME") {
        Some(home) => Path::new(&home).join(".local/share/tenure"),
        None => PathBuf::from("tenure-data"),
    }
}

/// Checks an address that other servers and clients can use, if there is one.
fn check_address(address: &str) -> Result<(), ConfigError> {
    let is_address = |authority: Authority| authority.port().is_some() && !authority.as_str().contains('@');
    if address.is_empty() || address.len() <= 255 && Authority::try_from(address).is_ok_and(is_address) {
        return Ok(());
    }
    Err(ConfigError(format!("advertise is \"{address}\": it must be host:port, or empty")))
}

fn check_url(url: &str) -> Result<(), ConfigError> {
    const KINDS: [&str; 5] = ["sqlite:", "postgres://", "postgresql://", "mysql://", "mariadb://"];
    if KINDS.iter().any(|kind| url.starts_with(kind)) {
        return Ok(());
    }
    // Without the value, which may hold a password in any form.
    let kinds = "sqlite:<file>, postgres://<user>@<host>/<database> or mysql://<user>@<host>/<database>";
    Err(ConfigError(format!("store_url must be {kinds}")))
}
