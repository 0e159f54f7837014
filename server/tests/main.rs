//! Tests of the server through its services, in one binary: each further one would link the whole server again.

#![allow(clippy::unwrap_used, reason = "clippy knows tests, but not what they call")]

mod access;
mod admin;
mod call_metrics;
mod calls;
mod config;
mod connections;
mod console;
mod forwarding;
mod grace;
mod grant_races;
mod groups;
mod history;
mod jwt;
mod lab;
mod lifecycle;
mod metrics;
mod overload;
mod peer_tls;
mod pending_grants;
mod serving;
mod store_faults;
mod systemd;
mod time;
mod watch;
