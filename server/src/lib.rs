//! The Tenure server.
//!
//! The flow of a request:
//!
//! 1. [`transport`] accepts the connection, terminates TLS, enforces connection limits, and hands HTTP/2 to tonic.
//! 2. [`grpc`] authenticates the caller ([`auth`]), validates every field, authorizes, and builds a command.
//! 3. [`node`] finds or opens the namespace; its [`sequencer`] collects commands into a batch.
//! 4. The core (`tenure_core`) decides each command against the replica of the table and returns events.
//! 5. [`store`] appends the events if the log is still at the revision on which the decisions were based. Otherwise the
//!    sequencer reads the events of other servers and decides again. [`peer`] forwards commands to the server that
//!    appended last.
//! 6. After the commit, the events are applied to the replica, callers receive replies, and [`watch`] sends the events
//!    to its subscribers.
//!
//! Renewals stay in memory for as long as the server's lease is valid ([`cluster`]). [`server`] is the composition root.
//!
//! What starts or runs a server returns a boxed future: the body of an async function is compiled in the crate that
//! first polls it, and the whole server would be compiled again in each program that starts one.
//!
//! Modules import only those above them in this list:

pub mod telemetry;

pub(crate) mod limits;

pub mod transport;

pub mod auth;

pub mod store;

pub mod cluster;

pub mod config;

pub mod watch;

pub mod sequencer;

pub mod history;

pub mod node;

pub mod grpc;

pub mod peer;

pub mod admin;

pub mod process;

pub mod server;
