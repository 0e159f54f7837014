//! The Tenure server.

pub mod store;
