//! The Tenure server.

pub mod access;
pub mod admin;
mod caretaker;
pub mod clock;
pub mod config;
mod gathering;
mod grpc_only;
pub mod healthcheck;
pub mod history;
pub mod hub;
pub mod lease;
pub mod life;
pub mod listen;
pub mod logging;
pub mod metrics;
pub mod node;
pub mod others;
pub mod peers;
pub mod poll;
pub mod presence;
mod punctual;
mod reload;
pub mod sequencer;
pub mod server;
pub mod service;
pub mod store;
