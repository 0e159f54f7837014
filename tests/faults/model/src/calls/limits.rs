//! Defines the size of a model of plain calls, and the bounds on its optional events.

use super::flaw::Flaw;

/// The bounds of a model of plain calls.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The number of servers.
    pub servers: u8,
    /// The number of clients, with one session each. The first client holds the lock at the beginning.
    pub clients: u8,
    /// The number of Acquires of each other client.
    pub acquires: u8,
    /// Whether an Acquire may also be non-waiting.
    pub tries: bool,
    /// The number of Acquires that the first client makes after its first hold.
    pub again: u8,
    /// Bounds on optional events.
    pub budget: Budget,
    /// A deliberate flaw of the protocol.
    pub flaw: Option<Flaw>,
}

/// Maximum number of each optional event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    /// A client releases.
    pub releases: u8,
    /// A client cancels its Acquires.
    pub cancels: u8,
    /// A client renews its session at a server that is not its home.
    pub renews: u8,
    /// A client abandons a call.
    pub leaves: u8,
    /// A server forwards a command to another server.
    pub forwards: u8,
    /// A reply is lost.
    pub losses: u8,
    /// A wait times out.
    pub timeouts: u8,
    /// A session expires.
    pub expiries: u8,
    /// A server crashes. One server always stays up.
    pub crashes: u8,
    /// A server reloads its table, from rows that are behind the log or ahead of what it has seen.
    pub reloads: u8,
}

impl Default for Limits {
    fn default() -> Self {
        let (budget, flaw) = (Budget::default(), None);
        Self { servers: 2, clients: 2, acquires: 2, tries: false, again: 0, budget, flaw }
    }
}

impl Limits {
    /// Whether the model has this flaw.
    #[must_use]
    pub fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }
}
