//! Scenarios: possible client errors as data, played against the client of each language through its driver. The README
//! beside this crate describes the format and the drivers' protocol.

mod actor;
mod clients;
mod conversation;
mod driver;
mod drivers;
mod matcher;
mod observer;
mod play;
mod relay;
mod repertoire;
mod report;
mod run;
mod scenario;
mod secured;
mod stage;
mod step;
mod told;

pub use clients::ClientSpec;
pub use conversation::{Answered, Conversation};
pub use report::report;
pub use run::{Outcome, RunOptions, run};
pub use scenario::Scenario;
pub use stage::{SETUPS, Setup};
