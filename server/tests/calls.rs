//! Plain calls whose replies are lost or whose callers cancel, and streams with many commands in a message: over gRPC,
//! on a database in memory.

mod answers;
mod cluster;
mod deadlines;
mod floods;
mod leaving;
mod messages;
mod reach;
mod spread;
mod stream;
mod waits;
