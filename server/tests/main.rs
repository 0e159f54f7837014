//! All tests of this crate in one binary: each further one would link the whole server again.

#![allow(clippy::unwrap_used, reason = "clippy knows tests, but not what they call")]

mod access;
mod admin;
mod calls;
mod config;
mod connections;
mod console;
mod counting;
mod crowd;
mod grace;
mod groups;
mod history;
mod lab;
mod life;
mod metrics;
mod moments;
mod passing;
mod pending_grants;
mod proof;
mod serving;
mod store_faults;
mod systemd;
mod time;
mod tokens;
mod watch;
