//! Structured logging to standard error.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

use crate::config::LogFormat;

/// Any client can trigger the warnings of these crates without limit. A level in the settings comes later and takes
/// precedence.
const QUIET: &str = "h2=error,rustls=error";

/// Starts logging for the whole process. `level` is a level, or several by target: `warn,tenure_server=debug`.
///
/// # Errors
/// If logging was already started.
pub fn start(format: LogFormat, level: &str) -> Result<(), TryInitError> {
    let registry = tracing_subscriber::registry().with(filter(level));
    match format {
        LogFormat::Text => {
            let layer = layer().with_writer(io::stderr).with_ansi(io::stderr().is_terminal());
            registry.with(layer).try_init()
        }
        LogFormat::Json => registry.with(layer().json().flatten_event(true).with_writer(io::stderr)).try_init(),
    }
}

fn filter(level: &str) -> EnvFilter {
    EnvFilter::new(format!("{QUIET},{level}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a warning of rustls and one of this program are logged.
    fn logged(level: &str) -> (bool, bool) {
        let subscriber = tracing_subscriber::registry().with(filter(level));
        tracing::subscriber::with_default(subscriber, || {
            let rustls = tracing::enabled!(target: "rustls::conn", tracing::Level::WARN);
            (rustls, tracing::enabled!(target: "tenure_server", tracing::Level::WARN))
        })
    }

    #[test]
    fn warnings_of_rustls_are_logged_only_if_requested() {
        assert_eq!(logged("info"), (false, true));
        assert_eq!(logged("debug"), (false, true));
        assert_eq!(logged("info,rustls=warn"), (true, true));
    }
}
