//! The Tenure server.

pub mod clock;
pub mod hub;
pub mod lease;
pub mod node;
pub mod poll;
pub mod presence;
pub mod sequencer;
pub mod server;
pub mod service;
pub mod store;
