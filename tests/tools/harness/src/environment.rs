//! Isolation of started programs from the environment of the caller's shell.

use std::ffi::OsString;

/// The names of this process's variables that a server or a client would read, and that must be removed for them.
pub fn settings() -> impl Iterator<Item = OsString> {
    std::env::vars_os().map(|(name, _)| name).filter(|name| name.to_str().is_some_and(is_setting))
}

fn is_setting(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    name.starts_with("TENURE_") || name.starts_with("OTEL_") || name.ends_with("_PROXY") || name == "RUST_LOG"
}
