//! History: who held a lock, from when to when, and why that ended. It is not stored as a table, but assembled from the
//! log, read backwards, so keeping it costs no writes.

mod assembly;
mod cursor;
mod reading;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use tenure_core::{ClaimSpec, EndReason, Eviction, Revision};

pub use cursor::Cursor;
pub use reading::{Page, read};

/// An entry in the history of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A hold, current or ended.
    Hold(HoldRecord),
    /// The database lost a part of the history.
    Lost(Loss),
}

impl Entry {
    fn hold(&self) -> Option<&HoldRecord> {
        match self {
            Self::Hold(hold) => Some(hold),
            Self::Lost(_) => None,
        }
    }
}

/// A hold, as far as it is known: events dropped from the log are missing. Times are in ms since 1970, by the clocks of
/// the servers that wrote the events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldRecord {
    /// The claim's id. Equal to the token if the claim never waited.
    pub claim: Revision,
    /// The fencing token.
    pub token: Revision,
    /// The spec of the claim.
    pub spec: Arc<ClaimSpec>,
    /// When it was requested.
    pub queued_ms: Option<i64>,
    /// When it was granted.
    pub granted_ms: Option<i64>,
    /// The TTL that the session was opened with.
    pub ttl: Option<Duration>,
    /// How it ended. `None` for a current hold.
    pub end: Option<HoldEnd>,
}

/// How a hold ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldEnd {
    /// When it ended.
    pub at_ms: i64,
    /// Why it ended.
    pub reason: EndReason,
    /// The eviction, if that is the reason.
    pub eviction: Option<Eviction>,
    /// How late the renewals were, if the session's home knew.
    pub longest_pause: Option<Duration>,
}

/// A loss of history: anything committed between the two revisions is void.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The last revision before the loss.
    pub after: Revision,
    /// The revision that declares the loss.
    pub revision: Revision,
    /// When the loss was detected, in ms since 1970.
    pub at_ms: i64,
}
