//! The Tenure server.

pub mod admin;
pub mod clock;
pub mod config;
pub mod healthcheck;
pub mod logging;
pub mod server;
pub mod store;
