//! Deliberate defects: of the servers, and of the library.

use std::fmt;

use tenure_client::defect::Defect as Clients;
use tenure_core::defect::Defect as Servers;

/// A deliberate defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// Of the servers.
    Server(Servers),
    /// Of the library.
    Client(Clients),
}

impl Defect {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        Servers::ALL.into_iter().map(Self::Server).chain(Clients::ALL.into_iter().map(Self::Client))
    }

    /// From now on this program has it.
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

/// The defect of this name.
///
/// # Errors
/// The names that there are, if this is none.
pub fn parse(name: &str) -> Result<Defect, String> {
    let names = || Defect::all().map(|defect| defect.to_string()).collect::<Vec<_>>().join(", ");
    Defect::all().find(|defect| defect.to_string() == name).ok_or_else(|| format!("none of {}", names()))
}
