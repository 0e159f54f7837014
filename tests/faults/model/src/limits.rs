//! Defines the size of a model, and the bounds on its faults.

use crate::flaw::Flaw;

/// The bounds of a model. Times are in ticks.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Number of servers.
    pub servers: u8,
    /// Number of clients, with one session each.
    pub clients: u8,
    /// Duration of the model.
    pub ticks: u8,
    /// Final period without faults.
    pub calm: u8,
    /// The TTL of every session.
    pub ttl: u8,
    /// Time for which a heartbeat must be observed unchanged before its server is marked dead.
    pub lease: u8,
    /// Maximum total lead of a server's clock.
    pub drift: u8,
    /// Whether time passes only when no action is left to do. If not, anything may take any time.
    pub prompt: bool,
    /// Whether sessions are renewed by calls to any server, instead of on the stream of their client.
    pub calls: bool,
    /// Whether the model starts with the first client as holder at the first server, and each other client waiting at
    /// the next server.
    pub begun: bool,
    /// Bounds on faults and other optional events.
    pub budget: Budget,
    /// A deliberate flaw of the protocol.
    pub flaw: Option<Flaw>,
}

/// Maximum number of each optional event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Renewals and heartbeats that may take long.
    pub slow: u8,
    /// Clients leave a stream for another one without need.
    pub moves: u8,
    /// Holders release.
    pub releases: u8,
    /// Clients die.
    pub client_crashes: u8,
    /// Servers die.
    pub server_crashes: u8,
    /// Servers start again, under a new id.
    pub restarts: u8,
    /// Appends whose outcome is not reported: made, not made, or still in progress.
    pub unknowns: u8,
    /// Appends that are certainly not made.
    pub unavailables: u8,
    /// Heartbeats whose request or response is lost.
    pub lost_heartbeats: u8,
    /// Failovers to another database.
    pub failovers: u8,
    /// Batches lost in failovers.
    pub lost_batches: u8,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            servers: 2,
            clients: 2,
            ticks: 0,
            calm: 0,
            ttl: 2,
            lease: 2,
            drift: 0,
            prompt: false,
            calls: false,
            begun: false,
            budget: Budget::default(),
            flaw: None,
        }
    }
}

impl Limits {
    /// Whether the model has this flaw.
    #[must_use]
    pub fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    /// Validity of a renewal by the client's count: the TTL, less the possible lead of the server's clock.
    /// `client-rs/src/validity.rs`.
    #[must_use]
    pub fn client_validity(&self) -> u8 {
        if self.has(Flaw::DriftIgnored) { self.ttl } else { self.ttl - self.drift }
    }

    /// Validity of a heartbeat: shorter than the time that other servers wait. `server/src/node/heartbeat.rs`.
    #[must_use]
    pub fn lease_validity(&self) -> u8 {
        if self.has(Flaw::DriftIgnored) { self.lease } else { self.lease - self.drift }
    }

    /// Time for which a heartbeat must be observed unchanged before its server is marked dead.
    #[must_use]
    pub fn dead_after(&self) -> u8 {
        if self.has(Flaw::MarkedDeadEarly) { self.lease - 2 } else { self.lease }
    }
}
