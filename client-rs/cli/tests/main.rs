//! The tests of this crate in one binary, but `signals`: each further one would link the whole server again.

#![allow(clippy::unwrap_used, reason = "clippy knows tests, but not what they call")]

mod documented;
mod exit_codes;
mod fence_sql;
mod groups;
mod health;
mod json;
mod operate;
mod pages;
mod progress;
mod service;
mod supervise;
mod support;
mod terminal;
