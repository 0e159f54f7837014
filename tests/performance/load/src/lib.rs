//! Runs real Tenure processes under load.
//!
//! *Overload* offers a server three times its capacity, and checks that it sheds the excess and that no holder is
//! affected. *Soak* runs a mixed workload on three servers for a long time, and checks that their resource usage does
//! not grow and that the history is consistent at the end.

mod client_stream;
mod latency;
pub mod overload;
mod process;
mod report;
mod service;
pub mod soak;

pub use report::Report;
pub use service::Base;
