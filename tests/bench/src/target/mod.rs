//! What is measured: how it is started, and how clients connect to it.

pub mod empty;
pub mod etcd;
pub mod http2;
pub mod pool;
pub mod redis;
pub mod store;
pub mod tenure;
pub mod zookeeper;

use tokio::net::TcpStream;
use tokio::runtime::Handle;

/// How many connections all clients share, as those of a program with several threads do. So for all targets that can
/// carry several clients on one connection.
pub const CONNECTIONS: usize = 8;

/// Whether somebody listens on this port of this machine.
async fn accepts(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).await.is_ok()
}

/// Starts something in the middle of a measurement, which may be on any thread, whereas what starts processes stays on one.
pub fn start_now<T>(starting: impl Future<Output = T>) -> T {
    tokio::task::block_in_place(|| Handle::current().block_on(starting))
}
