//! Whether a server is ready, and the reason if it is not.

use std::fmt;

/// Whether a server is ready, or why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It serves.
    Ready,
    /// It is still starting.
    Starting,
    /// The store is unavailable; the text may be shown to anyone.
    Store(String),
    /// The server's lease has lapsed.
    LeaseLost,
    /// It is shutting down.
    Draining,
}

impl Readiness {
    /// Whether the server is ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        *self == Self::Ready
    }
}

impl fmt::Display for Readiness {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready => write!(formatter, "ready"),
            Self::Starting => write!(formatter, "starting"),
            Self::Store(why) => write!(formatter, "store: {why}"),
            Self::LeaseLost => write!(formatter, "lease lost"),
            Self::Draining => write!(formatter, "draining"),
        }
    }
}
