//! The measured systems: how they are started, and how clients connect to them.

pub mod empty;
pub mod etcd;
pub mod http2;
pub mod pool;
pub mod redis;
pub mod store;
pub mod tenure;
pub mod zookeeper;

use std::path::{Path, PathBuf};
use std::process::Command;

use tenure_harness::{Unpacked, find};
use tokio::net::TcpStream;
use tokio::runtime::Handle;

/// The number of connections that all clients share, as in a program with several threads. It applies to all targets
/// that can multiplex clients on a connection.
pub const CONNECTIONS: usize = 8;

/// The systems to compare with, as `cargo xtask bench` unpacks them.
const PEERS: Unpacked = Unpacked("peers");

/// A program of such a system, in its version of today, or else as installed: the short form runs without the former.
pub fn peer(name: &str, package: &str) -> anyhow::Result<Command> {
    PEERS.command(name).or_else(|_| Ok(Command::new(find(name, package)?)))
}

/// A file of such a system: the same.
pub fn peer_file(installed: &Path) -> PathBuf {
    let unpacked = PEERS.path(installed.display().to_string().trim_start_matches('/'));
    if unpacked.exists() { unpacked } else { installed.to_path_buf() }
}

/// Whether the port of this machine accepts connections.
async fn accepts(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).await.is_ok()
}

/// Starts a process during a measurement, from any thread, although starting must stay on one thread.
pub fn start_now<T>(starting: impl Future<Output = T>) -> T {
    tokio::task::block_in_place(|| Handle::current().block_on(starting))
}
