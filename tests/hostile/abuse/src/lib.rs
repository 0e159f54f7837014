//! Runs attacks against a real Tenure server.
//!
//! A [`FrameClient`] sends any HTTP/2 frames, in any order, including invalid ones; a [`GrpcCaller`] sends valid
//! HTTP/2 with invalid gRPC. A [`Target`] runs a healthy client all the while, and checks whether an attack has
//! effects on others: on that client's calls, and on the server's memory, state and log.

pub mod block;
pub mod frame;
mod frame_client;
mod grpc;
mod healthy;
mod leaks;
mod machine;
mod memory;
mod state;
mod target;
mod times;

pub use frame_client::{FrameClient, Reaction};
pub use grpc::{GrpcCaller, GrpcResponse, message};
pub use healthy::HEALTHY_NAMESPACE;
pub use leaks::assert_no_leaks;
pub use target::{Attack, Target};

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
