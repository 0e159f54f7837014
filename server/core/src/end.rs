//! The reasons for the end of claims and sessions, and the operators behind them.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::names::Text;

/// Why a claim or a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
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
        self.into()
    }
}

/// The operator behind an action, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Eviction {
    /// The operator's name.
    pub operator: Text,
    /// The operator's note; may be empty.
    pub note: Text,
}
