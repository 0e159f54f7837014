//! Peers: how servers reach each other over gRPC, to pass commands on. What that means is the sequencer's business.

mod connector;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod link;
mod listen;
mod pack;
mod reach;
mod wire;

pub use connector::{Connector, Tcp, Tls, Wire};
pub use link::Links;
pub(crate) use listen::PeerCalls;
pub(crate) use reach::keep_looking;
