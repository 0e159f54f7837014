//! Selects deliberate defects of the servers and of the client library.

use std::fmt;

use tenure_client::defect::Defect as Clients;
use tenure_core::defect::Defect as Servers;

/// A deliberate defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// A defect of the servers.
    Server(Servers),
    /// A defect of the client library.
    Client(Clients),
}

impl Defect {
    /// All known defects.
    pub fn all() -> impl Iterator<Item = Self> {
        Servers::ALL.into_iter().map(Self::Server).chain(Clients::ALL.into_iter().map(Self::Client))
    }

    /// Enables the defect in this process.
    pub fn bring(self) {
        match self {
            Self::Server(defect) => defect.bring(),
            Self::Client(defect) => defect.bring(),
        }
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(defect) => write!(formatter, "{defect:?}"),
            Self::Client(defect) => write!(formatter, "{defect:?}"),
        }
    }
}

/// Parses the name of a defect.
///
/// # Errors
/// If the name is unknown: the list of known names.
pub fn parse(name: &str) -> Result<Defect, String> {
    let names = || Defect::all().map(|defect| defect.to_string()).collect::<Vec<_>>().join(", ");
    Defect::all().find(|defect| defect.to_string() == name).ok_or_else(|| format!("none of {}", names()))
}
