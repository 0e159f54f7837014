//! A separate model of plain calls whose sessions spread them over several servers. It covers what the model of streams
//! does not: waits, cancels, grants on their way to a caller, and concurrent calls of one session at several servers.
//!
//! The model has one exclusive lock and one session per client. It has no clocks: anything that takes time may happen
//! at any moment. Two assumptions about time remain. An abandoned claim is not cancelled before its server has decided
//! the commands that it received about the claim, which takes far less than the reattach time. A running server follows
//! the log. The call that last requested a claim is registered for it: if its client abandons the call, the claim may
//! be cancelled even if an earlier call waits.
//!
//! A request counts as sent when a server has received it. Neither the model nor the servers cover a request that is
//! still in the network when its cancel is acknowledged.
//!
//! A server decides received commands in any order. This is more general than the servers, which keep the order of
//! their commands.
//!
//! A grant may stay held, unknown to its client, until the session ends, in the cases that [`properties`] names.
//! Forwarded commands and reloaded tables are not checked together.
//!
//! Left out: loss of history, appends of unknown outcome and server leases, which the model of streams covers; streams;
//! priorities, transfers, minimum holds and other modes.

pub mod action;
mod clients;
mod decide;
pub mod flaw;
pub mod limits;
pub mod properties;
mod server;
mod step;
pub mod table;
pub mod world;
