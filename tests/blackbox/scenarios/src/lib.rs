//! Scenarios: possible client errors as data, run against the client of each language through its driver. The README
//! beside this crate describes the format and the drivers' protocol.

mod capabilities;
mod channel;
mod clients;
mod cluster;
mod driver;
mod drivers;
mod execution;
mod matcher;
mod observer;
mod participant;
mod relay;
mod report;
mod run;
mod scenario;
mod secured;
mod step;
mod watch_events;

pub use channel::{Answered, DriverChannel};
pub use clients::ClientSpec;
pub use cluster::{SETUPS, Setup};
pub use report::report;
pub use run::{Outcome, RunOptions, run};
pub use scenario::Scenario;
