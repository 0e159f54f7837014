//! Metrics, traces and the log, as far as they are the same for every part: each part defines its own metrics and spans.

pub(crate) mod log_throttle;
pub mod metrics;
pub mod redact;
pub mod traces;
