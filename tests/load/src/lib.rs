//! Real Tenure processes under load.
//!
//! *Overload* offers a server three times what it can take, and looks whether it sheds the rest and nobody who holds something
//! notices. *Soak* has three servers do a bit of everything for long, and looks whether they grow, and whether what they did
//! is consistent in the end.

mod latency;
pub mod overload;
mod process;
mod report;
mod service;
pub mod soak;
mod talk;

pub use report::Report;
pub use service::Base;
