//! What the caller's shell has set is not for the programs that tests start.

use std::ffi::OsString;

/// The names of all variables of this process that a server or a client would heed: they are to be taken away.
pub fn settings() -> impl Iterator<Item = OsString> {
    std::env::vars_os().map(|(name, _)| name).filter(|name| name.to_str().is_some_and(matters))
}

fn matters(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    name.starts_with("TENURE_") || name.starts_with("OTEL_") || name.ends_with("_PROXY") || name == "RUST_LOG"
}
