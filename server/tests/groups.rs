//! Groups, over gRPC, on a database in memory.

mod calls;
mod client;
mod input;
mod watch;
