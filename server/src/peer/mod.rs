//! Peers: how servers reach each other over gRPC, to forward commands. The sequencer decides which, and what follows.

mod bounds;
mod connector;
mod link;
pub mod message;
mod probe;
mod service;

pub use connector::{Connector, Tcp, Tls, Wire};
pub use link::Links;
pub(crate) use probe::keep_probing;
pub(crate) use service::PeerCalls;
