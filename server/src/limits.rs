//! What a caller can make this server hold or do, bounded in bytes and in time: every such bound, with its reason. They hold
//! whoever asks, and are no settings: all together they leave a server of default settings small. What each field of a request may
//! be is in [`service::bounds`](crate::service), what each identity may have and do is in the policy.

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// About how large a message is at most that the server sends of what may be any number of things: pages, snapshots, events.
/// A quarter of what the libraries of gRPC take by default (4 MiB), so that one thing more never makes it too large.
pub(crate) const SENT_MESSAGE: usize = MIB;
