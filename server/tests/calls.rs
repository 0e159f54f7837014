//! Plain calls whose answers are lost, or whose callers give up, and streams with many commands in a message: over gRPC, on a
//! database in memory.

#[path = "calls/answers.rs"]
mod answers;
#[path = "calls/cluster.rs"]
mod cluster;
#[path = "calls/deadlines.rs"]
mod deadlines;
#[path = "calls/floods.rs"]
mod floods;
#[path = "calls/leaving.rs"]
mod leaving;
#[path = "calls/messages.rs"]
mod messages;
#[path = "calls/reach.rs"]
mod reach;
#[path = "calls/spread.rs"]
mod spread;
#[path = "calls/talk.rs"]
mod talk;
#[path = "calls/waits.rs"]
mod waits;
