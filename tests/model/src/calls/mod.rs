//! A second, separate model: plain calls whose sessions spread them over several servers. It covers what the model of
//! streams does not: waits, cancels, grants on their way to a caller, and calls of one session under way at several
//! servers.
//!
//! One exclusive lock, one session a client. There are no clocks: what takes time may happen at any moment. Two
//! assumptions about time remain. A claim without a call is not cancelled before its server has decided what it was
//! asked about it, which takes far less than the reattach time. A server that is alive follows the log. The call that
//! asked for a claim last looks after it: if its client leaves it, the claim may be cancelled though an earlier call
//! waits.
//!
//! A request counts as sent when a server has received it: one that is still in the network when its cancel is
//! acknowledged is not covered, here or by the servers.
//!
//! A server decides what it has received in any order, which is more than the servers do: they keep the order of their
//! commands.
//!
//! A grant may stay held without its client knowing, until its session ends, in the cases that [`properties`] names.
//! Commands that are passed on and tables that are loaded anew are not looked at together.
//!
//! Left out: loss of history, appends of unknown outcome and server leases, which the model of streams has; streams;
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
