//! Deterministic simulation of Tenure: runs several real servers and clients on a network, a database and clocks that
//! are derived from a seed, and checks the resulting history.

pub mod base;
pub mod campaign;
pub mod client;
pub mod database;
pub mod defect;
pub mod faults;
pub mod host;
pub mod machine;
pub mod network;
pub mod outbox;
pub mod run;
pub mod server;
pub mod story;
pub mod wire;
pub mod world;
