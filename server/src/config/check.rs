//! Fills in the defaults of settings and checks their bounds.

use std::fmt::Display;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::uri::Authority;
use tracing_subscriber::EnvFilter;

use super::span::Span;
use super::{Config, ConfigError, Layer, LogConfig, LogFormat, StoreConfig, Surroundings, security};
use crate::transport::ConnectionLimits;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Fills in the defaults and checks every bound.
pub(super) fn check(layer: Layer, surroundings: &Surroundings) -> Result<Config, ConfigError> {
    let tls = security::tls(&layer)?;
    let credentials = security::credentials(&layer)?;
    let allow_insecure = layer.allow_insecure.unwrap_or(false);
    let data_dir = layer.data_dir.unwrap_or_else(|| default_data_dir(surroundings));
    let url = match layer.store_url {
        Some(url) => url,
        None => default_url(&data_dir)?,
    };
    check_url(&url)?;
    let label = layer.label.unwrap_or_else(|| surroundings.host.clone());
    if label.is_empty() || label.len() > 255 || label.chars().any(char::is_control) {
        return Err(ConfigError("label must be 1 to 255 bytes without control characters".into()));
    }
    let listen = layer.listen.unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, 7420)));
    security::check(listen, tls.is_some(), &credentials, allow_insecure)?;
    let advertise = match layer.advertise {
        Some(address) => checked_address(address)?,
        None if listen.ip().is_unspecified() => format!("{}:{}", surroundings.host, listen.port()),
        None => listen.to_string(),
    };
    let max_connections = number("max_connections", layer.max_connections, 20_000, 1, 1_000_000)?;
    let longest = 365 * DAY;
    let max_ttl = span("max_ttl", layer.max_ttl, DAY, Duration::from_millis(100), longest)?;
    let level = layer.log_level.or_else(|| surroundings.variable("RUST_LOG")?.into_string().ok());
    let level = level.unwrap_or_else(|| "info".into());
    EnvFilter::try_new(&level).map_err(|error| ConfigError(format!("log_level is \"{level}\": {error}")))?;
    let lowest = Duration::from_millis(100);
    Ok(Config {
        data_dir,
        store: StoreConfig {
            url: url.into(),
            url_file: layer.store_url_file,
            max_connections: number("store_max_connections", layer.store_max_connections, 4, 1, 1000)?,
            connect_timeout: span("store_connect_timeout", layer.store_connect_timeout, 2 * SECOND, lowest, MINUTE)?,
            statement_timeout: span(
                "store_statement_timeout",
                layer.store_statement_timeout,
                5 * SECOND,
                lowest,
                MINUTE,
            )?,
            allow_unsafe_durability: layer.store_allow_unsafe_durability.unwrap_or(false),
            prepared_statements: layer.store_prepared_statements.unwrap_or(true),
            poll_interval: span(
                "store_poll_interval",
                layer.store_poll_interval,
                Duration::from_millis(20),
                Duration::from_millis(1),
                10 * SECOND,
            )?,
            migrate: layer.store_migrate.unwrap_or(true),
        },
        listen,
        admin_listen: layer.admin_listen.unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, 7421))),
        console: layer.console.unwrap_or(true),
        tls,
        credentials,
        allow_insecure,
        label,
        advertise,
        // A default min_ttl above a configured max_ttl would be a bound that the operator did not set.
        min_ttl: span("min_ttl", layer.min_ttl, max_ttl.min(Duration::from_millis(500)), lowest, max_ttl)?,
        max_ttl,
        server_lease: span("server_lease", layer.server_lease, 10 * SECOND, 2 * SECOND, MINUTE)?,
        history_retention: span("history_retention", layer.history_retention, DAY, Duration::ZERO, 3650 * DAY)?,
        history_max_bytes: number("history_max_bytes", layer.history_max_bytes, 1 << 30, 1 << 24, 1 << 50)?,
        drain_timeout: span("drain_timeout", layer.drain_timeout, 10 * SECOND, Duration::ZERO, 10 * MINUTE)?,
        connections: ConnectionLimits {
            connections: max_connections,
            of_one_address: number(
                "max_connections_per_address",
                layer.max_connections_per_address,
                max_connections.div_ceil(2),
                1,
                max_connections,
            )?,
            ..ConnectionLimits::default()
        },
        max_namespaces: number("max_namespaces", layer.max_namespaces, 100, 1, 100_000)?,
        worker_threads: number(
            "worker_threads",
            layer.worker_threads,
            surroundings.processors.div_ceil(2).max(1),
            1,
            1000,
        )?,
        log: LogConfig { format: layer.log_format.unwrap_or(LogFormat::Text), level },
    })
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

fn default_url(data_dir: &Path) -> Result<String, ConfigError> {
    let file = data_dir.join("tenure.db");
    let Some(file) = file.to_str() else {
        return Err(ConfigError(format!("data_dir is {}: it must be UTF-8", data_dir.display())));
    };
    Ok(format!("sqlite:{file}"))
}

/// An address that other servers and clients can use, if there is one.
fn checked_address(address: String) -> Result<String, ConfigError> {
    let is_address = |authority: &Authority| authority.port().is_some() && !authority.as_str().contains('@');
    match Authority::try_from(address.as_str()) {
        _ if address.is_empty() => Ok(address),
        Ok(authority) if is_address(&authority) && address.len() <= 255 => Ok(address),
        _ => Err(ConfigError(format!("advertise is \"{address}\": it must be host:port, or empty"))),
    }
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

fn span(
    key: &str,
    given: Option<Span>,
    default: Duration,
    low: Duration,
    high: Duration,
) -> Result<Duration, ConfigError> {
    let value = given.map_or(default, |span| span.0);
    within(key, Span(value), value, low..=high, &[Span(low), Span(high)])?;
    Ok(value)
}

fn number<N: Copy + Display + PartialOrd>(
    key: &str,
    given: Option<N>,
    default: N,
    low: N,
    high: N,
) -> Result<N, ConfigError> {
    let value = given.unwrap_or(default);
    within(key, value, value, low..=high, &[low, high])?;
    Ok(value)
}

fn within<N: PartialOrd>(
    key: &str,
    shown: impl Display,
    value: N,
    bounds: std::ops::RangeInclusive<N>,
    shown_bounds: &[impl Display; 2],
) -> Result<(), ConfigError> {
    if bounds.contains(&value) {
        return Ok(());
    }
    let [low, high] = shown_bounds;
    Err(ConfigError(format!("{key} is {shown}: it must be {low} to {high}")))
}
