//! Free ports.

use std::hash::{BuildHasher, RandomState};
use std::net::TcpListener;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

use anyhow::bail;

/// Below the range of ephemeral ports, so that no outgoing connection takes the port of a server while a test has it
/// stopped.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// A port of 127.0.0.1 without a listener, which this process has not returned before.
///
/// # Errors
/// If there is none.
pub fn free() -> anyhow::Result<u16> {
    static NEXT: OnceLock<AtomicU16> = OnceLock::new();
    // Each process begins at a different port, so that concurrent processes do not collide.
    let next = NEXT.get_or_init(|| AtomicU16::new((RandomState::new().hash_one(()) % u64::from(COUNT)) as u16));
    for _ in 0..COUNT {
        let port = FIRST + next.fetch_add(1, Ordering::Relaxed) % COUNT;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no port from {FIRST} on is free");
}
