//! The Tenure server.
//!
//! A request flows so:
//!
//! 1. [`transport`] accepts the connection, ends TLS, bounds what it may hold, and hands HTTP/2 to tonic.
//! 2. [`grpc`] finds out who calls ([`auth`]), checks every field, asks the policy, and makes a command of the request.
//! 3. [`node`] finds the namespace, or opens it; its [`sequencer`] collects commands into a batch.
//! 4. The core (`tenure_core`) decides each command against the replica of the table and says what happens: events.
//! 5. [`store`] appends the events, if the log is still at the revision that the decisions were based on; else the sequencer
//!    reads what other servers appended, and decides again. [`peer`] forwards commands to the server that appended last.
//! 6. After the commit the events are applied to the replica, callers get their replies, and [`watch`] sends the events to its
//!    subscribers.
//!
//! Renewals stay in memory, for as long as the server's lease lasts ([`cluster`]). [`server`] puts the parts together.
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
