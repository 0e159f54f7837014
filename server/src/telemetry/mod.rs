//! Shared metrics, traces, log support and the wall clock; each module defines its own metrics and spans.

pub(crate) mod log_throttle;
pub mod metrics;
pub mod redact;
pub mod traces;
pub(crate) mod wall_clock;
