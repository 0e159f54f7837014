//! What a caller can make this server hold or do, bounded in bytes and in time: every such bound, with its reason. They hold
//! for every caller, and are no settings: together they keep a server of default settings small. What each field of a request may
//! be is in [`grpc::validate`](crate::grpc), what each identity may have and do is in the policy.

mod budget;
mod metrics;

use std::time::Duration;

pub(crate) use budget::{Budget, Share};
pub(crate) use metrics::{Buffer, Buffers};

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// About how large a message is at most that lists any number of things: pages, the claims of a session. A quarter of what the
/// libraries of gRPC take by default (4 MiB), so that one entry more never makes it too large.
pub(crate) const PAGE: usize = MIB;

/// How much of the claims of one lock, or of one session in a list of sessions, is listed beside its count. The first hundred of
/// nearly every lock are smaller; one lock more never makes a message too large.
pub(crate) const LISTED_CLAIMS: usize = 64 * KIB;

/// How much the names and prefixes of all watches take. Some thousands of watches of a hundred each, a million of one.
pub(crate) const WATCHED: usize = 64 * MIB;

/// About how large a message of a watch is, one lock or group more aside. So much is encoded for a watch when its reader takes more, and
/// not before, so a watch whose reader takes nothing holds no more than that. Small, since there may be thousands of those.
pub(crate) const WATCH_MESSAGE: usize = 64 * KIB;

/// How large the names may be, all together, of locks that have changed since a snapshot under way included them. Beyond that it begins
/// anew: its reader takes less than changes meanwhile.
pub(crate) const WATCH_CHANGED: usize = 64 * KIB;

/// How much of the log a watch reads at a time that is behind, or one batch if that is larger (a batch is bounded by what databases
/// take in one statement).
pub(crate) const WATCH_READ: usize = 256 * KIB;

/// How large what happened in a commit may be to be encoded once for all watches of the same. Of more than that each watch encodes
/// one message at a time for itself.
pub(crate) const WATCH_SHARED: usize = 256 * KIB;

/// What is kept of that for watches whose readers are behind: so much for each of them, and no more for all of the same. It is what
/// some hundreds of small commits take: about a second of the busiest namespace. Who misses some of it reads the log.
pub(crate) const WATCH_KEPT: (usize, usize) = (128 * KIB, 16 * MIB);

/// What is kept of that in all. Without room, watches read the log.
pub(crate) const WATCH_KEPT_IN_ALL: usize = 64 * MIB;

/// How much of a namespace's log is kept in memory, for watches that are a little behind.
pub(crate) const LOG: usize = 16 * MIB;

/// How much of what was read of the log is kept for others who read the same, of all namespaces together.
pub(crate) const LOG_READ: usize = 16 * MIB;

/// How long a read of the log waits for its turn. Each turn takes some ms, so that hundreds wait then, and more would only wait longer.
pub(crate) const LOG_READ_TURN: Duration = Duration::from_secs(5);

/// How much the commands of a namespace may carry that wait to be decided. Beyond that new ones are refused, as beyond their number:
/// so much is decided within a second.
pub(crate) const QUEUE_BYTES: usize = 32 * MIB;

/// For how long reads of the table hold up decisions at a time, one read aside (each is bounded by a page, or by a message of a
/// watch). About what the commit of a batch takes, so that reads at most halve the rate of decisions.
pub(crate) const READING: Duration = Duration::from_millis(2);

/// What all Acquires take that may wait at this server. They are some 80,000 calls, or 200,000 commands of streams.
pub(crate) const WAITS: usize = 1024 * MIB;

/// What an Acquire takes that waits: as a call with its stream of HTTP/2, and as a command of a stream.
pub(crate) const WAIT: usize = 13 * KIB;
pub(crate) const WAIT_ON_STREAM: usize = 5 * KIB;

/// How much a client may have on its way in one call before this server has read it (the window of HTTP/2): 4 MiB still take no more
/// than 4 s where an answer takes 100 ms.
pub(crate) const STREAM_WINDOW: u32 = 128 * 1024;

/// The same in all calls of a connection. Of frames of less than 256 bytes the library takes no more unread than there would be in half of
/// it at 256 bytes each, and ends the connection otherwise: so it has to be enough for one in each call.
pub(crate) const CONNECTION_WINDOW: u32 = 1024 * 1024;
const _: () = assert!(CONNECTION_WINDOW / 2 / 256 > STREAMS);

/// The most calls under way on one connection. Each takes some KiB, whatever it does. Clients let more of them wait for their turn.
pub(crate) const STREAMS: u32 = 1_000;

/// How many streams of a connection may be reset because its client does what HTTP/2 forbids; then the connection ends. Without a
/// number there is no bound, and a client could have any number of calls begun and reset (CVE-2025-8671).
pub(crate) const RESETS: usize = 1_024;

/// The largest message that is taken: what the libraries of gRPC send by default. Most methods take less.
pub(crate) const MESSAGE: usize = 4 * MIB;

/// What the calls of one connection may have sent of messages that are not there as a whole: one of the largest, and some others. A
/// message that comes in one piece, as small ones do, is never incomplete.
pub(crate) const INCOMPLETE_OF_CONNECTION: usize = MESSAGE + MIB;

/// The same of all connections. Who sends no more takes at most ten connections to fill it, but for no longer than a message may take.
pub(crate) const INCOMPLETE: usize = 40 * MIB;

/// How long a message may take from its first byte to its last one; in calls that send only one, from the beginning of the call to the end
/// of all that is sent.
pub(crate) const MESSAGE_TIME: Duration = Duration::from_secs(10);

/// What an answer that is not sent is counted for beside its bytes: its headers, and the call that waits to send it.
pub(crate) const ANSWER: usize = 8 * KIB;

/// What one connection may have of answers that its client does not take; then it is closed. More than a client has that asks for some
/// large pages at once.
pub(crate) const UNSENT_OF_CONNECTION: usize = 16 * MIB;

/// The same of all connections. Beyond it the connection is closed that has most.
pub(crate) const UNSENT: usize = 32 * MIB;

/// How large the answers of one stream may be that are made at a time, of those that may be large: a session with its claims, a group.
/// Half of what a connection may have unsent.
pub(crate) const STREAM_ANSWERS: usize = 8 * MIB;

/// How large an answer is taken to be before it is known: a group of many members, a page, a lock with many waiters.
pub(crate) const LARGE_ANSWER: usize = 2 * MIB;

/// How large a session is at most without its claims.
pub(crate) const SESSION: usize = 8 * KIB;

/// How many sessions with many claims are read at a time, of all callers: each takes about as much as its claims do in a message.
pub(crate) const SESSION_READS: usize = 4;

/// Beyond this the watches of a connection wait, so that it is not closed for an event that many of them send at once.
pub(crate) const WATCHES_UNSENT: usize = 8 * MIB;

/// How long they wait at most: then the connection is closed, and its client resumes on another one. A client that reads so little has
/// stopped.
pub(crate) const WATCHES_WAIT: Duration = Duration::from_secs(30);
