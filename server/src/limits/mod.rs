//! Limits on what a caller can make this server hold or do, in bytes and in time, each with its reason. They apply to
//! every caller and are not configurable: together they keep a server with default settings small. The limits of
//! request fields are in [`grpc::validate`](crate::grpc), those of each identity in the policy.

mod budget;
mod metrics;

use std::time::Duration;

pub(crate) use budget::{Budget, Share};
pub(crate) use metrics::{Buffer, Buffers};

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// Approximate maximum size of a message with an unbounded list: pages, the claims of a session. A quarter of the
/// default limit of gRPC libraries (4 MiB), so that one more entry never exceeds that.
pub(crate) const PAGE: usize = MIB;

/// Maximum size of the claims listed beside their count, for one lock, or for one session in a list of sessions. The
/// first hundred of nearly every lock are smaller; one more lock never makes a message too large.
pub(crate) const LISTED_CLAIMS: usize = 64 * KIB;

/// Maximum size of the names and prefixes of all watches: some thousands of watches of a hundred each, or a million of
/// one.
pub(crate) const WATCHED: usize = 64 * MIB;

/// Approximate size of a watch message, to within one lock or group. A watch encodes this much when its reader takes
/// more, and not before, so a watch whose reader takes nothing holds no more than that. Small, since there may be
/// thousands of those.
pub(crate) const WATCH_MESSAGE: usize = 64 * KIB;

/// Maximum total size of the names of locks that changed after a snapshot in progress included them. Beyond it the
/// snapshot starts over: its reader is slower than the changes.
pub(crate) const WATCH_CHANGED: usize = 64 * KIB;

/// Size of log that a lagging watch reads at a time, or one batch if that is larger (batches are bounded by the
/// statement size of databases).
pub(crate) const WATCH_READ: usize = 256 * KIB;

/// Maximum size of a commit's events that are encoded once for all watches of the same filter. Beyond it, each watch
/// encodes them for itself, one message at a time.
pub(crate) const WATCH_SHARED: usize = 256 * KIB;

/// Size of shared messages kept for watches whose readers are behind: for each of them, and at most for all of the same
/// filter. It covers some hundreds of small commits, about a second of the busiest namespace. Readers that miss some
/// read the log.
pub(crate) const WATCH_KEPT: (usize, usize) = (128 * KIB, 16 * MIB);

/// Size of shared messages kept in all. Without room, watches read the log.
pub(crate) const WATCH_KEPT_IN_ALL: usize = 64 * MIB;

/// Size of a namespace's log kept in memory, for watches that are slightly behind.
pub(crate) const LOG: usize = 16 * MIB;

/// Size of log that was read and is kept for other readers of the same part, for all namespaces together.
pub(crate) const LOG_READ: usize = 16 * MIB;

/// How long a read of the log waits for its permit. Each read takes some ms, so hundreds wait by then, and more would
/// only wait longer.
pub(crate) const LOG_READ_WAIT: Duration = Duration::from_secs(5);

/// Maximum size of the commands of a namespace that wait to be decided. Beyond it new ones are rejected, as beyond
/// their maximum number. This much is decided within a second.
pub(crate) const QUEUE_BYTES: usize = 32 * MIB;

/// How long reads of the table may delay decisions at a time, to within one read (each is bounded by a page, or by a
/// watch message). About the duration of a batch commit, so that reads at most halve the rate of decisions.
pub(crate) const READING: Duration = Duration::from_millis(2);

/// Memory of all Acquires that may wait at this server: about 80,000 calls.
pub(crate) const WAITS: usize = 1024 * MIB;

/// Memory of a waiting Acquire: of the call, with its HTTP/2 stream.
pub(crate) const WAIT: usize = 13 * KIB;

/// Bytes that a client may have in transit in one call before this server has read them (HTTP/2 window): 4 MiB still
/// take at most 4 s at a round-trip time of 100 ms.
pub(crate) const STREAM_WINDOW: u32 = 128 * 1024;

/// HTTP/2 window of all calls of a connection. The library accepts as many unread frames of less than 256 bytes as half
/// of it would hold at 256 bytes each, and ends the connection beyond that, so it must suffice for one such frame per
/// call.
pub(crate) const CONNECTION_WINDOW: u32 = 1024 * 1024;
const _: () = assert!(CONNECTION_WINDOW / 2 / 256 > STREAMS);

/// Maximum concurrent calls per connection. Each takes some KiB, whatever it does. Clients queue further calls.
pub(crate) const STREAMS: u32 = 1_000;

/// Number of streams of a connection that may be reset for HTTP/2 violations of the client; then the connection ends.
/// If no number is set, there is no bound, and a client could have any number of calls begun and reset (CVE-2025-8671).
pub(crate) const RESETS: usize = 1_024;

/// Maximum size of a received message: what gRPC libraries receive by default. Most methods accept less.
pub(crate) const MESSAGE: usize = 4 * MIB;

/// Bytes of incomplete messages that the calls of one connection may have sent: one of the largest, and some others. A
/// message that arrives in one piece, as small ones do, is never incomplete.
pub(crate) const INCOMPLETE_OF_CONNECTION: usize = MESSAGE + MIB;

/// Bytes of incomplete messages of all connections. A client that stops sending can fill it with at most ten
/// connections, but for no longer than [`MESSAGE_TIME`].
pub(crate) const INCOMPLETE: usize = 40 * MIB;

/// How long a message may take from its first byte to its last; in calls that send only one, from the beginning of the
/// call to the end of the request body.
pub(crate) const MESSAGE_TIME: Duration = Duration::from_secs(10);

/// Overhead charged for an unsent reply beside its bytes: its headers, and the call that waits to send it.
pub(crate) const ANSWER: usize = 8 * KIB;

/// Overhead charged for the unsent headers, and for each unsent message, of a stream: the stream itself takes as much
/// when everything is sent.
pub(crate) const STREAMED: usize = 512;

/// Bytes of replies that one connection may hold unread by its client; then it is closed. More than a client has that
/// requests some large pages at once.
pub(crate) const UNSENT_OF_CONNECTION: usize = 16 * MIB;

/// Bytes of unread replies of all connections. Beyond it the connection that holds most is closed.
pub(crate) const UNSENT: usize = 32 * MIB;

/// Number of sessions with many claims read at a time, for all callers: each takes about as much as its claims do in a
/// message.
pub(crate) const SESSION_READS: usize = 4;

/// Unsent bytes beyond which the watches of a connection wait, so that it is not closed for an event that many of them
/// send at once.
pub(crate) const WATCHES_UNSENT: usize = 8 * MIB;

/// The same while half of [`UNSENT`] is unsent: much less, so that one event for very many watches closes no connection
/// whose client reads; but not nothing, so that clients that do not read only slow down the watches of others.
pub(crate) const WATCHES_UNSENT_AT_LEAST: usize = 16 * KIB;

/// Maximum duration of that wait: then the connection is closed, and its client resumes on another one. A client that
/// reads so little has stopped.
pub(crate) const WATCHES_WAIT: Duration = Duration::from_secs(30);
