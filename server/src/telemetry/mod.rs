//! Shared metrics, traces and log support; each module defines its own metrics and spans.

pub(crate) mod log_throttle;
pub mod metrics;
pub mod redact;
pub mod traces;
