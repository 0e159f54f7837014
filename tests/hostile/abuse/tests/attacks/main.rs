//! Attacks on a real server, each beside a healthy client. In their short form, unless `TENURE_ABUSE_LONG` is set.

#![allow(clippy::unwrap_used, reason = "clippy knows tests, but not what they call")]

mod access;
mod admin;
mod buffers;
mod certificates;
mod contract;
mod exhaustion;
mod floods;
mod frames;
mod headers;
mod history;
mod identity;
mod limits;
mod messages;
mod resets;
mod service;
mod slow;
mod snapshots;
mod unread;
