//! All tests of this crate in one binary: each further one would link the whole server again.

#![allow(clippy::unwrap_used, reason = "clippy knows tests, but not what they call")]

mod cancellation;
mod contention;
mod crashes;
mod election;
mod examples;
mod failover;
mod grace;
mod groups;
mod handoff;
mod locks;
mod lost_replies;
mod modes;
mod orphans;
mod progress;
mod security;
mod support;
