//! Runs attacks against a real Tenure server.
//!
//! A [`Speaker`] sends any HTTP/2 frames, in any order, including invalid ones; a [`GrpcCaller`] sends valid HTTP/2
//! with invalid gRPC. A [`Judge`] runs a healthy client all the while, and decides whether an attack was noticeable
//! from outside: by that client's calls, and by the server's memory, state and log.

pub mod block;
mod discreet;
pub mod frame;
mod grpc;
mod healthy;
mod judge;
mod machine;
mod memory;
mod speaker;
mod state;
mod times;

pub use discreet::assert_discreet;
pub use grpc::{Answered, GrpcCaller, message};
pub use healthy::HEALTHY_NAMESPACE;
pub use judge::{Attack, Judge};
pub use memory::resident;
pub use speaker::{Speaker, Verdict};

/// Returns whether the long form is requested.
#[must_use]
pub fn is_long() -> bool {
    std::env::var_os("TENURE_ABUSE_LONG").is_some()
}

/// The size of an attack: a few times larger in the long form.
#[must_use]
pub fn many(short: usize, long: usize) -> usize {
    if is_long() { long } else { short }
}
