//! The console's paths: who is let do what, what is answered, and what is not.

#![allow(clippy::unwrap_used, reason = "clippy knows tests, but not what they call")]

#[path = "console/bounds.rs"]
mod bounds;
#[path = "console/credentials.rs"]
mod credentials;
#[path = "console/desk.rs"]
mod desk;
#[path = "console/files.rs"]
mod files;
#[path = "console/open.rs"]
mod open;
mod serving;
#[path = "console/streams.rs"]
mod streams;
