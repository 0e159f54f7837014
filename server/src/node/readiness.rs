//! Whether a server can do its work, and why not.

use std::fmt;

/// Why a server cannot serve.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unready {
    /// It is not yet done with starting.
    Starting,
    /// The store does not answer; with what may be shown of that to anyone.
    Store(String),
    /// The server's lease has run out.
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

/// Whether a server can serve: it can if nothing speaks against it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// What speaks against it.
    pub reasons: Vec<Unready>,
}

impl Readiness {
    /// It can.
    pub const READY: Self = Self { reasons: Vec::new() };

    /// It cannot, for one reason.
    #[must_use]
    pub fn not(reason: Unready) -> Self {
        Self { reasons: vec![reason] }
    }

    /// Whether it can.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.reasons.is_empty()
    }
}
