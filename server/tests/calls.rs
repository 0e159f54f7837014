//! Plain calls whose replies are lost or whose callers cancel, and the declared stream: over gRPC, on a database in
//! memory.

mod advertised;
pub(crate) mod cluster;
mod connect;
mod deadlines;
pub(crate) mod declared;
mod lost_calls;
mod lost_replies;
mod several_servers;
mod waits;
