//! How large a model of plain calls is, and what may go wrong in it.

use super::flaw::Flaw;

/// The bounds of a model of plain calls.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The number of servers.
    pub servers: u8,
    /// The number of clients, with one session each. The first one holds the lock at the beginning.
    pub clients: u8,
    /// The number of Acquires of each other client.
    pub acquires: u8,
    /// Whether an Acquire may also be one that does not wait.
    pub tries: bool,
    /// The number of Acquires that the first client makes after its first hold.
    pub again: u8,
    /// How often events happen that need not.
    pub budget: Budget,
    /// A deliberate flaw of the protocol.
    pub flaw: Option<Flaw>,
}

/// How often, in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    /// A client releases.
    pub releases: u8,
    /// A client cancels its Acquires.
    pub cancels: u8,
    /// A client renews its session at a server that is not its home.
    pub renews: u8,
    /// A client leaves a call.
    pub leaves: u8,
    /// A server passes a command to another one.
    pub passes: u8,
    /// An answer is lost.
    pub losses: u8,
    /// The time of a wait is up.
    pub timeouts: u8,
    /// A session expires.
    pub expiries: u8,
    /// A server crashes. One stays.
    pub crashes: u8,
    /// A server loads its table anew, from rows that are behind the log or ahead of what it has seen.
    pub reloads: u8,
}

impl Default for Limits {
    fn default() -> Self {
        let (budget, flaw) = (Budget::default(), None);
        Self { servers: 2, clients: 2, acquires: 2, tries: false, again: 0, budget, flaw }
    }
}

impl Limits {
    /// Whether this is the flaw.
    #[must_use]
    pub fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }
}
