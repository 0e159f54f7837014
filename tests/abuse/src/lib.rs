//! Attacks on a real Tenure server.
//!
//! A [`Speaker`] says any frames of HTTP/2, in any order, also wrong ones; a [`GrpcCaller`] makes calls whose HTTP/2 is right and
//! whose gRPC is not. A [`Judge`] has a healthy client at work all the while, and decides whether an attack was told from the
//! outside: by what that client notices, by the server's memory, by its state, and by its log.

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

/// Whether the long form is wanted.
#[must_use]
pub fn is_long() -> bool {
    std::env::var_os("TENURE_ABUSE_LONG").is_some()
}

/// How many of something an attack brings: a few times more in the long form.
#[must_use]
pub fn many(short: usize, long: usize) -> usize {
    if is_long() { long } else { short }
}
