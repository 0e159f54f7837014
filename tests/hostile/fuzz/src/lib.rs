//! Fuzz targets: each takes bytes, and asserts properties that must hold for any bytes. `cargo test` replays the corpus
//! and mutates it for a second per target.
//!
//! A target panics if a property does not hold. It is deterministic: the same bytes always have the same effect.

mod audit;
mod certificates;
mod changes;
mod client;
mod config;
mod contract;
mod core;
mod draw;
mod events;
mod invariants;
mod jwt;
mod names;
mod pages;
mod peers;
mod policy;
mod requests;
mod rows;
pub mod seeds;
mod service;
mod tokens;

/// A target: its name, which is that of its corpus as well, and its function.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: &[Target] = &[
    ("core", core::core),
    ("events", events::events),
    ("rows", rows::rows),
    ("pages", pages::pages),
    ("names", names::names),
    ("requests", requests::requests),
    ("peers", peers::peers),
    ("policy", policy::policy),
    ("tokens", tokens::tokens),
    ("jwt", jwt::jwt),
    ("certificates", certificates::certificates),
    ("config", config::config),
    ("audit", audit::audit),
    ("client", client::client),
    ("service", service::service),
];
