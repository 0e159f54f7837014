//! Tenure's Rust client: locks, leadership, watches and groups.
//!
//! ```no_run
//! use tenure_client::{Attempt, Client};
//! use std::time::Duration;
//!
//! # async fn example() -> tenure_client::Result<()> {
//! // Several servers are equals: the client goes from one to the next, and takes along what it holds.
//! let client = Client::connect("http://127.0.0.1:7420,http://127.0.0.1:7430")?;
//!
//! // Wait for a lock; the token goes along with every write that it protects.
//! let guard = client.lock("nightly-report").ttl(Duration::from_secs(5)).owner("host-1").acquire().await?;
//! println!("token {}", guard.token());
//! guard.release().await?;
//!
//! // Try: a lock that another session holds is no error.
//! match client.lock("nightly-report").try_acquire().await? {
//!     Attempt::Acquired(guard) => guard.release().await?,
//!     Attempt::Busy(busy) => println!("held by {:?}", busy.holder.map(|holder| holder.owner)),
//! }
//!
//! // Run something only while the lock is held.
//! client.lock("nightly-report").run(async |hold| println!("token {}", hold.token())).await?;
//!
//! // Do something every second, in the one copy of the program that leads.
//! client.election("service_leader").lead_every(Duration::from_secs(1), async |hold| {
//!     println!("leading with token {}", hold.token());
//! }).await?;
//! # Ok(()) }
//! ```
//!
//! # What is promised
//!
//! A hold is never reported as valid after the server may have ended it: validity counts from the moment a renewal was
//! *sent*, on a clock that runs while the machine is suspended, less drift and a margin, and it is decided at the
//! moment of the check. A program may be paused right after the check: the resource that a lock protects should check
//! the fencing token.
//!
//! A session is renewed while the client runs, even if the rest of the program hangs. For a hung program to lose its
//! locks, make renewal depend on progress: [`Election::stall_after`] and [`LockRequest::stall_after`] for the work
//! under a lock, [`SessionOptions::renew_while`] for a whole program.
//!
//! One client is one connection with one stream, which sessions, locks and watches share. When the server fails,
//! drains, or is silent for a part of the TTL, the client fails over to the next one, with its sessions, holds, tokens
//! and places in queues.
//!
//! # Features
//!
//! `tls` (default: on) connects to `https://` endpoints, by rustls with the CAs of the system. Without it they are
//! rejected as invalid.
//!
//! `otel` (default: off) continues traces at the server: those of plain calls, and of what is declared and withdrawn on
//! the stream. The current context of OpenTelemetry is sent, which is that of the surrounding program, or of the span's
//! own if `tracing-opentelemetry` exports it: opening a session, acquiring, releasing and each plain call is a span of
//! `tracing`. What a Hello states again is in no trace.

mod backoff;
mod calls;
mod client;
mod clock;
mod connection;
mod convert;
mod declare;
mod election;
mod error;
mod group;
mod guard;
mod lock;
mod options;
mod presence;
mod progress;
mod protocol;
mod session;
mod trace;
#[doc(hidden)]
pub mod transport;
mod watch;

pub use client::Client;
pub use declare::Attempt;
pub use election::Election;
pub use error::{Error, LostReason, Result};
pub use group::{GroupRequest, Membership, Standing};
pub use guard::{Guard, Hold, TransferRequest};
pub use lock::LockRequest;
pub use options::{ClientOptions, SessionOptions};
pub use progress::Progress;
pub use session::{Session, SessionState};
/// The contract: the messages of reads, of operators' calls and of watches.
pub use tenure_proto::v1;
pub use watch::Watch;

/// Free labels on a session, a claim or a membership. At most 4096 bytes in all, keys and values together.
pub type Metadata = std::collections::BTreeMap<String, String>;

/// The assignments of a group, by the members' numbers. Each at most 16384 bytes; all together at most 1048576.
pub type Assignments = std::collections::BTreeMap<u64, String>;
