//! Groups, over gRPC, on a database in memory.

#[path = "groups/calls.rs"]
mod calls;
#[path = "groups/club.rs"]
mod club;
#[path = "groups/input.rs"]
mod input;
#[path = "watch/office.rs"]
mod office;
#[path = "groups/stream.rs"]
mod stream;
#[path = "groups/watch.rs"]
mod watch;

use std::time::Duration;

/// Longer than anything here takes.
pub const LIMIT: Duration = Duration::from_secs(30);
