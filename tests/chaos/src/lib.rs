//! Real Tenure processes on real databases, while everything around them fails.
//!
//! *Chaos* draws faults from a seed and lets them hit servers, clients, the database and the ways between them. *Failover*
//! kills the database that takes the writes under load, again and again, and has another take over. Clients are processes of their own
//! that write down what they did and saw; at the end all that is checked against the database's log, by the rules that
//! the simulation is checked by, too.

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
pub use proxy::{Proxy, Way, Weather};
