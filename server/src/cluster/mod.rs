//! What a server knows of time and of the other servers: a clock, its own lease, and who else is there.

pub mod clock;
pub mod lease;
pub mod membership;
