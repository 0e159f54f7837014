//! Groups, over gRPC, on a database in memory.

mod calls;
mod client;
mod input;
mod stream;
mod watch;

use std::time::Duration;

/// Exceeds the duration of any step here.
pub const LIMIT: Duration = Duration::from_secs(30);
