//! Tenure's gRPC contract, generated from `proto/`; see there for what each message means.

mod call;
pub mod codec;
mod group;
mod lock;
mod refusal;
mod words;

pub use call::{Call, List};

/// Messages, clients and servers of the package `tenure.v1`.
#[allow(clippy::all, clippy::pedantic, missing_docs)]
pub mod v1 {
    include!("generated/tenure.v1.rs");
}

/// The protocol between servers, of the package `tenure.internal.v1`: not for clients, and free to change.
#[allow(clippy::all, clippy::pedantic, missing_docs)]
pub mod internal {
    include!("generated/tenure.internal.v1.rs");
}

/// The compiled contract (a `google.protobuf.FileDescriptorSet`), for server reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("generated/descriptors.binpb");
