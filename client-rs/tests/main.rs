//! All tests of this crate in one binary: each further one would link the whole server again.

#![allow(clippy::unwrap_used, reason = "clippy knows tests, but not what they call")]

mod contest;
mod dying;
mod examples;
mod failover;
mod giving_up;
mod grace;
mod groups;
mod handoff;
mod leading;
mod locks;
mod lost_answers;
mod modes;
mod orphans;
mod progress;
mod secured;
mod support;
