//! Runs real Tenure processes on real databases under injected faults.
//!
//! *Chaos* draws faults from a seed and injects them into servers, clients, the database and the network between them.
//! *Failover* repeatedly kills the database that takes the writes under load, and has another take over. Clients are
//! separate processes that journal what they did and saw; at the end the journals are checked against the database's
//! log, by the same rules as in the simulation.

mod chaos;
pub mod client;
mod client_process;
mod clock;
mod database;
mod deployment;
mod ending;
pub mod failover;
mod faults;
mod journal;
mod past;
mod proxy;
mod report;
mod run_folder;
mod servers;

pub use chaos::{ChaosArguments, chaos};
pub use client_process::{ClientConfig, ClientProcess};
pub use clock::now;
pub use database::Kind;
pub use faults::enter_own_namespaces;
pub use past::{past, read_log, scan_log};
pub use proxy::{Conditions, Direction, Proxy};
