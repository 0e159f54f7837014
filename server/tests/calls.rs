//! Plain calls whose answers are lost, or whose callers give up: over gRPC, on a database in memory.

#[path = "calls/answers.rs"]
mod answers;
#[path = "calls/cluster.rs"]
mod cluster;
#[path = "calls/leaving.rs"]
mod leaving;
#[path = "calls/waits.rs"]
mod waits;
