//! Time and membership: the clock, the server's own lease, and the other servers.

pub mod clock;
pub mod lease;
pub mod membership;
