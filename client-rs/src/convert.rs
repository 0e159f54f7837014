//! Converts durations for the contract's messages.

use std::time::Duration;

/// A duration for the wire.
pub(crate) fn to_wire(duration: Duration) -> prost_types::Duration {
    duration.try_into().unwrap_or(prost_types::Duration { seconds: i64::MAX, nanos: 0 })
}

/// A duration from the wire: zero if it is absent or negative.
pub(crate) fn from_wire(duration: Option<prost_types::Duration>) -> Duration {
    duration.and_then(|duration| duration.try_into().ok()).unwrap_or_default()
}
