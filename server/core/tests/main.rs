//! All tests of this crate in one binary: each further one would link the crate again.

#![allow(clippy::unwrap_used, reason = "clippy knows tests, but not what they call")]

mod clients;
mod deadlocks;
mod groups;
mod handoff;
mod home;
mod homes;
mod limits;
mod model;
mod naive;
mod owners;
mod rejections;
mod restored;
mod retries;
