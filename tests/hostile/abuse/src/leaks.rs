//! Checks that texts for untrusted callers leak no internals.

/// Paths, SQL, addresses and source locations: they show an attacker what to try next.
const INTERNALS: [&str; 16] = [
    "/tmp",
    "/home",
    "/usr",
    "/root",
    "/var",
    ".rs:",
    "src/",
    "SELECT",
    "INSERT",
    "UPDATE ",
    "sqlite",
    "database",
    "127.0.0.1",
    "0x7f",
    "panicked",
    "unwrap",
];

/// Checks that a text leaks no internals.
///
/// # Panics
/// If it does.
pub fn assert_no_leaks(text: &str) {
    let leaked = INTERNALS.iter().find(|internal| text.contains(**internal));
    assert_eq!(leaked, None, "the text leaks internals: {text}");
}
