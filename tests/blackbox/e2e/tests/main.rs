//! All tests of this crate in one program: each further one would link the whole server again.

#![allow(clippy::unwrap_used, reason = "clippy exempts tests, but not their helpers")]

mod balanced;
mod crashes;
mod full_disk;
mod grace;
mod grants;
mod groups;
mod handoff;
mod input;
mod issuer;
mod jobs;
mod leader;
mod monitoring;
mod paused;
mod restore;
mod security_page;
mod semi_sync;
mod servers;
mod snippets;
mod start;
mod stubs;
mod systemd;
mod traces;
mod upgrade;
