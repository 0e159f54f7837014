//! Whether a server is ready, and the reasons if it is not.

use std::fmt;

/// A reason why a server is not ready.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unready {
    /// It is still starting.
    Starting,
    /// The store is unavailable; the text may be shown to anyone.
    Store(String),
    /// The server's lease has lapsed.
    LeaseLost,
    /// It is shutting down.
    Draining,
}

impl fmt::Display for Unready {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Starting => write!(formatter, "starting"),
            Self::Store(why) => write!(formatter, "store: {why}"),
            Self::LeaseLost => write!(formatter, "lease lost"),
            Self::Draining => write!(formatter, "draining"),
        }
    }
}

/// Whether a server is ready: it is if there are no reasons against it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// The reasons why it is not ready.
    pub reasons: Vec<Unready>,
}

impl Readiness {
    /// The server is ready.
    pub const READY: Self = Self { reasons: Vec::new() };

    /// The server is not ready, for one reason.
    #[must_use]
    pub fn not(reason: Unready) -> Self {
        Self { reasons: vec![reason] }
    }

    /// Whether the server is ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.reasons.is_empty()
    }
}
