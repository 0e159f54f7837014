//! Tenure's deterministic simulation: several servers and clients as they are, on a network, a database and clocks that
//! follow from a seed, and the check of what comes of it.

pub mod base;
pub mod campaign;
pub mod client;
pub mod database;
pub mod defect;
pub mod faults;
pub mod host;
pub mod machine;
pub mod mail;
pub mod network;
pub mod run;
pub mod server;
pub mod story;
pub mod wire;
pub mod world;
