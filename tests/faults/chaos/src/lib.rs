//! Runs real Tenure processes on real databases, while everything around them fails.
//!
//! *Chaos* draws faults from a seed and injects them into servers, clients, the database and the network between them.
//! *Failover* repeatedly kills the database that takes the writes under load, and has another take over. Clients are
//! separate processes that journal what they did and saw; at the end the journals are checked against the database's
//! log, by the same rules as in the simulation.

mod chaos;
pub mod client;
mod clock;
mod crew;
mod database;
mod ending;
pub mod failover;
mod faults;
mod journal;
mod past;
mod proxy;
mod report;
mod servers;
mod stage;
mod workplace;

pub use chaos::{ChaosArguments, chaos};
pub use clock::now;
pub use crew::{Crew, Orders};
pub use database::Kind;
pub use faults::be_alone;
pub use past::{past, read_log, scan_log};
pub use proxy::{Conditions, Proxy, Way};
