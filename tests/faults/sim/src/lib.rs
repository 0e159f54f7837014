//! Deterministic simulation of Tenure: runs several real servers and clients on a network, a database and clocks that
//! are derived from a seed, and checks the resulting history.

pub mod campaign;
pub mod client;
pub mod database;
pub mod defect;
pub mod faults;
pub mod host;
pub mod leaver;
pub mod machine;
pub mod network;
pub mod outbox;
pub mod run;
pub mod server;
pub mod store;
pub mod timeline;
pub mod wire;
pub mod world;
