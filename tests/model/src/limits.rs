//! How large a model is, and how much may go wrong in it.

use crate::flaw::Flaw;

/// The bounds of a model. Times are in ticks.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many servers there are.
    pub servers: u8,
    /// How many clients, with one session each.
    pub clients: u8,
    /// How long it lasts.
    pub ticks: u8,
    /// For how long at its end nothing goes wrong.
    pub calm: u8,
    /// The TTL of every session.
    pub ttl: u8,
    /// How long a heartbeat must have been seen unchanged before its server is marked dead.
    pub lease: u8,
    /// How far a server's clock may run ahead in all.
    pub drift: u8,
    /// Whether time passes only when everything that can be done has been done. If not, anything may take any time.
    pub prompt: bool,
    /// Whether sessions are renewed by calls to whatever server, or on the stream that they are attached to.
    pub calls: bool,
    /// Whether it begins with the first client as holder by the first server, and each other one waiting by the next server.
    pub begun: bool,
    /// How often what may go wrong or otherwise need not happen.
    pub budget: Budget,
    /// What is wrong with the protocol.
    pub flaw: Option<Flaw>,
}

/// How often, in all.
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
    /// Appends whose outcome is not told: made, not made, or still under way.
    pub unknowns: u8,
    /// Appends that surely are not made.
    pub unavailables: u8,
    /// Heartbeats of which the answer is lost, or the request.
    pub lost_heartbeats: u8,
    /// Databases that take over.
    pub failovers: u8,
    /// Batches that are lost with a failover.
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
    /// Whether this is what is wrong.
    #[must_use]
    pub fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    /// For how long a renewal is good, by the client's count: the TTL, less what the server's clock may run ahead.
    /// `client-rs/src/validity.rs`.
    #[must_use]
    pub fn client_validity(&self) -> u8 {
        if self.has(Flaw::DriftIgnored) { self.ttl } else { self.ttl - self.drift }
    }

    /// For how long a heartbeat is good: less than others wait for. `server/src/node/heartbeat.rs`.
    #[must_use]
    pub fn lease_validity(&self) -> u8 {
        if self.has(Flaw::DriftIgnored) { self.lease } else { self.lease - self.drift }
    }

    /// For how long a heartbeat must have been seen unchanged.
    #[must_use]
    pub fn patience(&self) -> u8 {
        if self.has(Flaw::ImpatientWithOthers) { self.lease - 2 } else { self.lease }
    }
}
