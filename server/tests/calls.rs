//! Plain calls whose replies are lost or whose callers cancel, and streams with many commands in a message: over gRPC,
//! on a database in memory.

mod advertised;
pub(crate) mod cluster;
mod connect;
mod deadlines;
mod lost_calls;
mod lost_replies;
mod messages;
mod several_servers;
mod slow_readers;
pub(crate) mod stream;
mod waits;
