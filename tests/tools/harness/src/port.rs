//! Free ports.

use std::hash::{BuildHasher, RandomState};
use std::net::{TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::bail;

/// Below the range of ephemeral ports, so that no outgoing connection takes the port of a server while a test has it
/// stopped.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// Sockets, each at a port that is of this process.
static CLAIMS: Mutex<Vec<UdpSocket>> = Mutex::new(Vec::new());

/// A port of 127.0.0.1 without a listener. Until this process ends, no other test gets it: the UDP port of the same
/// number is in use.
///
/// # Errors
/// If there is none.
pub fn free() -> anyhow::Result<u16> {
    static NEXT: OnceLock<AtomicU16> = OnceLock::new();
    // Each process begins at a different port, so that it seldom tries one of another process.
    let next = NEXT.get_or_init(|| AtomicU16::new((RandomState::new().hash_one(()) % u64::from(COUNT)) as u16));
    for _ in 0..COUNT {
        let port = FIRST + next.fetch_add(1, Ordering::Relaxed) % COUNT;
        let Ok(claim) = UdpSocket::bind(("127.0.0.1", port)) else { continue };
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            CLAIMS.lock().unwrap_or_else(PoisonError::into_inner).push(claim);
            return Ok(port);
        }
    }
    bail!("no port from {FIRST} on is free");
}
