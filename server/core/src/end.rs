//! The reasons for the end of claims and sessions, and the operators behind them.

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

use crate::names::Text;

/// Why a claim or a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(Deserialize, Serialize), serde(rename_all = "snake_case"))]
pub enum EndReason {
    /// The holder released it, or the waiter cancelled.
    Released,
    /// The session's TTL passed without a renewal.
    Expired,
    /// The session's stream broke and its grace passed, or no caller was left to receive a grant.
    Disconnected,
    /// The client closed the session.
    Closed,
    /// An operator ended it.
    Evicted,
    /// It was handed over to another waiter by a planned handoff.
    Transferred,
}

impl EndReason {
    /// Every reason.
    pub const ALL: [Self; 6] =
        [Self::Released, Self::Expired, Self::Disconnected, Self::Closed, Self::Evicted, Self::Transferred];

    /// The canonical name, used everywhere.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Released => "released",
            Self::Expired => "expired",
            Self::Disconnected => "disconnected",
            Self::Closed => "closed",
            Self::Evicted => "evicted",
            Self::Transferred => "transferred",
        }
    }
}

/// The operator behind an action, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Deserialize, Serialize))]
pub struct Eviction {
    /// The operator's name.
    pub operator: Text,
    /// The operator's note; may be empty.
    pub note: Text,
}
