//! Models Tenure's protocol: sequencers of several servers, a store that they share, server leases, homes that take
//! renewals in memory, and clients that track validity themselves. The checker explores all behaviours within bounds.
//!
//! Time advances in whole ticks, and each duration is stored as its remainder, so that states that differ in nothing
//! else are equal. There are one namespace, one exclusive lock, and one session per client. Each module names the code
//! that it models.
//!
//! [`calls`] is a separate model: waits, grants and cancels of plain calls that are spread over several servers.
//! [`declared`] is another one: what a client declares over successive streams.

pub mod action;
pub mod calls;
pub mod check;
pub mod client;
mod clients;
pub mod declared;
mod faults;
pub mod flaw;
pub mod limits;
mod moves;
pub mod properties;
mod sequencer;
pub mod server;
pub mod store;
pub mod table;
pub mod world;
