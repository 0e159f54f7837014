//! A model of Tenure's protocol: sequencers of several servers, a store that they share, server leases, homes that take
//! renewals in memory, and clients that count for themselves. The checker looks at all that can happen within bounds.
//!
//! Time is whole ticks, and every span is kept as what is left of it, so that states that differ in nothing else are one. One
//! namespace, one exclusive lock, one session a client. Each module names the code that it stands for.
//!
//! [`calls`] is a model of its own: waits, grants and cancels of plain calls that are spread over several servers.

pub mod action;
pub mod calls;
pub mod check;
pub mod client;
mod clients;
pub mod flaw;
pub mod limits;
mod mishaps;
mod moves;
pub mod properties;
mod sequencer;
pub mod server;
pub mod store;
pub mod table;
pub mod world;
