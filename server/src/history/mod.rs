//! History: who held a lock, from when to when, and why that ended. There is no table of it: it is put together from the
//! log, read backwards, so keeping it costs no write.

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

/// What the history of a lock consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Somebody held it, or does.
    Hold(HoldRecord),
    /// The database lost a part of the history.
    Lost(Loss),
}

/// A hold, as far as it is known: what was dropped from the log is not. Times are in ms since 1970, on the clocks of the
/// servers that wrote the events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldRecord {
    /// The claim's id. The same as the token if it never waited.
    pub claim: Revision,
    /// The fencing token.
    pub token: Revision,
    /// What the claim was made with.
    pub spec: Arc<ClaimSpec>,
    /// When it was asked for.
    pub queued_ms: Option<i64>,
    /// When it was granted.
    pub granted_ms: Option<i64>,
    /// What the session was opened with.
    pub ttl: Option<Duration>,
    /// How it ended. None: it lasts.
    pub end: Option<HoldEnd>,
}

/// How a hold ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldEnd {
    /// When.
    pub at_ms: i64,
    /// Why.
    pub reason: EndReason,
    /// Who evicted the holder, if that is why.
    pub eviction: Option<Eviction>,
    /// How late the renewals were, if the session's home knew.
    pub longest_pause: Option<Duration>,
}

/// A loss of history: what was committed between two revisions, if anything, is void.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The last revision before.
    pub after: Revision,
    /// The revision that declares it.
    pub revision: Revision,
    /// When it was noticed, in ms since 1970.
    pub at_ms: i64,
}
