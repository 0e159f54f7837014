//! The fence in real databases: admission, waiting and rejection.

#![allow(clippy::unwrap_used, reason = "clippy knows tests, but not what they call")]

mod bounds;
mod crowd;
mod lab;
mod order;
mod scripts;
mod snapshots;
