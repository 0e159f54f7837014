//! The clients' stream: many commands in one message, over gRPC, on a database in memory.

#[path = "calls/cluster.rs"]
mod cluster;
#[path = "stream/messages.rs"]
mod messages;
#[path = "stream/talk.rs"]
mod talk;
