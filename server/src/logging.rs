//! Structured logs, on standard error.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

use crate::config::{LogConfig, LogFormat};

/// What h2 warns of, whoever connects can have it say as often as it likes. A level for `h2` in the settings comes later, and counts.
const QUIET: &str = "h2=error";

/// Starts logging for the whole process.
///
/// # Errors
/// If logging was started before.
pub fn start(config: &LogConfig) -> Result<(), TryInitError> {
    let registry = tracing_subscriber::registry().with(EnvFilter::new(format!("{QUIET},{}", config.level)));
    match config.format {
        LogFormat::Text => {
            let layer = layer().with_writer(io::stderr).with_ansi(io::stderr().is_terminal());
            registry.with(layer).try_init()
        }
        LogFormat::Json => registry.with(layer().json().flatten_event(true).with_writer(io::stderr)).try_init(),
    }
}
